import type { ModelFacts } from "../../gateway/src/for-catalogues.ts";

interface AskedThoughts {
  /** The limit may be sent in the older of OpenAI's two words, or in another one that may not bound thoughts. */
  readonly byOlderWord?: boolean;
  readonly enable_thinking?: boolean | null | undefined;
  readonly thinking_budget?: number | null | undefined;
}

/**
 * How much a model may think before its answer, where the limit bounds the answer alone. No vendor says how long thoughts
 * without a budget can become: as much is held for them as for a whole answer, and what exceeds that is written off and reported.
 */
export function thoughtTokensMax(model: ModelFacts, asked: AskedThoughts = {}): number {
  const { thinksBeside, unaskedOutputTokensMax } = model;
  const { byOlderWord = false, enable_thinking: thinks, thinking_budget: budget } = asked;
  if (thinks === false && heedsNo(model)) return 0;
  const mayThink =
    thinks === true || thinksBeside === "any_limit" || (byOlderWord && thinksBeside === "max_tokens");
  return Math.max(0, budget ?? (mayThink ? unaskedOutputTokensMax : 0));
}

/** Vendors of other dialects are told so in their own words, which not all of their models heed; and some models always think. */
const heedsNo = ({ names, protocols }: ModelFacts): boolean =>
  protocols.every((protocol) => protocol === "openai") && !names.some((name) => onlyThinks.test(name));

const onlyThinks = /thinking|qwq|qvq/i;
