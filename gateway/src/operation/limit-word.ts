import type { Upstream } from "./upstream.ts";
import { isModelStudio, isOpenAiItself } from "./vendor-addresses.ts";

export type LimitWord = NonNullable<Upstream["outputLimit"]>;

/**
 * OpenAI has two words for the most that a model may write. Its thinking models refuse the older one; of the vendors that
 * speak its dialect many know the older one only, and either refuse the newer or pass over it, so that nothing is limited.
 */
export function limitWordFor(upstream: Pick<Upstream, "url" | "outputLimit">, model: string): LimitWord {
  if (upstream.outputLimit !== undefined) return upstream.outputLimit;
  if (isModelStudio(upstream)) return boundsThoughts.test(model) ? "max_completion_tokens" : "max_tokens";
  return isOpenAiItself(upstream) || thinks.test(model) ? "max_completion_tokens" : "max_tokens";
}

const thinks = /(^|\/)(o[1-9](?![\w.])|gpt-[5-9])/;

/** Models that heed the newer word, as Model Studio says. It is not known whether older ones do. */
const boundsThoughts =
  /qwen(3\.([5-9]|\d\d)-plus|3\.([7-9]|\d\d)-max|[4-9])|kimi-k(2\.[5-9]|[3-9])|glm-[5-9]|minimax-m(2\.[5-9]|[3-9])|deepseek-v[4-9]/i;

/**
 * Which limits bound the answer of a model alone, and not what it thinks before: none, the older word where a caller uses
 * it, or all. At Model Studio the older word does, and its models may also be served by others.
 */
export function thinksBeside(upstream: Upstream, model: string): "max_tokens" | "any_limit" | undefined {
  if (upstream.protocol === "gemini" || !(isModelStudio(upstream) || atHomeThere.test(model)))
    return undefined;
  if (upstream.protocol !== "openai") return "any_limit";
  if (upstream.outputLimit === "max_completion_tokens") return undefined;
  return limitWordFor(upstream, model) === "max_tokens" ? "any_limit" : "max_tokens";
}

const atHomeThere = /qwen|qwq|qvq/i;
