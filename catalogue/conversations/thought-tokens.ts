import type { ModelFacts } from "../../gateway/src/for-catalogues.ts";

interface AskedThoughts {
  /** The limit may be in the older of OpenAI's two words, or in a word that may not bound thoughts either. */
  readonly byOlderWord?: boolean;
  readonly enable_thinking?: boolean | null | undefined;
  readonly thinking_budget?: number | null | undefined;
}

/**
 * What a model may think before its answer, where the limit bounds the answer alone. No vendor says how long thoughts without
 * a budget may become: as much is held for them as for a whole answer, and what goes beyond is written off and reported.
 */
export function thoughtTokensMax(model: ModelFacts, asked: AskedThoughts = {}): number {
  const { thinksBeside, unaskedOutputTokensMax } = model;
  const { byOlderWord = false, enable_thinking: thinks, thinking_budget: budget } = asked;
  if (thinks === false && heedsNo(model)) return 0;
  const mayThink =
    thinks === true || thinksBeside === "any_limit" || (byOlderWord && thinksBeside === "max_tokens");
  return Math.max(0, budget ?? (mayThink ? unaskedOutputTokensMax : 0));
}

/** Whoever speaks another dialect is told so in its own words, which not all of its models heed, and some cannot but think. */
const heedsNo = ({ names, protocols }: ModelFacts): boolean =>
  protocols.every((protocol) => protocol === "openai") && !names.some((name) => onlyThinks.test(name));

const onlyThinks = /thinking|qwq|qvq/i;
