import type { Dispatch, Upstream } from "../../operation/upstream.ts";
import type { JsonObject } from "../../platform/json.ts";
import { isOpenAiItself } from "./openai-itself.ts";

type LimitWord = NonNullable<Upstream["outputLimit"]>;

/**
 * OpenAI has two words for the most that a model may write. Its thinking models refuse the older one; of the vendors that
 * speak its dialect many know the older one only, and either refuse the newer or pass over it, so that nothing is limited.
 */
function limitWordFor({ upstream, model = "" }: Pick<Dispatch, "upstream" | "model">): LimitWord {
  if (upstream.outputLimit !== undefined) return upstream.outputLimit;
  return isOpenAiItself(upstream) || thinks.test(model) ? "max_completion_tokens" : "max_tokens";
}

const thinks = /(^|\/)(o[1-9](?![\w.])|gpt-[5-9])/;

/** A limit in the word that the upstream takes, instead of the one that we write everywhere. */
export function withLimitWord(body: JsonObject, dispatch: Dispatch): JsonObject {
  const { max_completion_tokens: limit, ...rest } = body;
  return limit === undefined ? body : { ...rest, [limitWordFor(dispatch)]: limit };
}

/**
 * What is to be changed about the limit of a caller's own body: one is added where there is none, for it is what the hold
 * was computed from. A caller's own stays at OpenAI itself, which heeds both words or refuses; elsewhere the newer word may
 * be passed over, and the caller would be given more than was held, so there it is told in the word that the vendor knows.
 */
export function limitChanges(body: JsonObject, dispatch: Dispatch): Readonly<Record<string, unknown>> {
  // Null is no limit, in either word.
  const given = words.filter((word) => typeof body[word] === "number");
  const { upstream } = dispatch;
  if (given.length > 0 && upstream.outputLimit === undefined && isOpenAiItself(upstream)) return nothing;
  // Of two the greater is what was held for.
  const limit =
    given.length > 0 ? Math.max(...given.map((word) => Number(body[word]))) : dispatch.maxOutputTokens;
  const word = wordToWrite(body, given, dispatch);
  const other = words.find((each) => each !== word && each in body);
  if (limit === undefined || (body[word] === limit && other === undefined)) return nothing;
  return { [word]: limit, ...(other === undefined ? {} : { [other]: undefined }) };
}

const words = ["max_completion_tokens", "max_tokens"] as const satisfies readonly LimitWord[];
const nothing: Readonly<Record<string, unknown>> = Object.freeze({});

/** Everybody heeds the older word or refuses it, so it may stay; and with a prediction OpenAI takes no other. */
function wordToWrite(body: JsonObject, given: readonly LimitWord[], dispatch: Dispatch): LimitWord {
  const { outputLimit } = dispatch.upstream;
  if (outputLimit !== undefined) return outputLimit;
  const isOlder = given.length === 1 && given[0] === "max_tokens";
  return isOlder || (body["prediction"] ?? null) !== null ? "max_tokens" : limitWordFor(dispatch);
}
