import { limitWordFor, type LimitWord } from "../../operation/limit-word.ts";
import { modelOf, type Dispatch } from "../../operation/forwarder.ts";
import { isOpenAiItself } from "../../operation/vendor-addresses.ts";
import type { JsonObject } from "../../platform/json.ts";

/** A limit in the word that the upstream takes, instead of the one that we write everywhere. */
export function withLimitWord(body: JsonObject, dispatch: Dispatch): JsonObject {
  const { max_completion_tokens: limit, ...rest } = body;
  return limit === undefined ? body : { ...rest, [wordOf(dispatch)]: limit };
}

/**
 * What is to be changed about the limit of a caller's own body: one is added where there is none, for it is what the hold
 * was computed from. A caller's own stays at OpenAI itself, which heeds both words or refuses; elsewhere the newer word may
 * be passed over, and the caller would be given more than was held, so there it is told in the word that the vendor knows.
 */
export function limitChanges(body: JsonObject, dispatch: Dispatch): Readonly<Record<string, unknown>> {
  const { upstream } = dispatch;
  const newer = limitIn(body, "max_completion_tokens");
  const older = limitIn(body, "max_tokens");
  const isGiven = newer !== undefined || older !== undefined;
  if (isGiven && upstream.outputLimit === undefined && isOpenAiItself(upstream)) return nothing;
  // The greater of two is what was held for.
  const limit = isGiven ? Math.max(newer ?? 0, older ?? 0) : modelOf(dispatch).unaskedOutputTokensMax;
  // Everybody heeds the older word, or refuses it.
  const staysOlder = newer === undefined && older !== undefined;
  const word = upstream.outputLimit ?? (staysOlder ? "max_tokens" : wordBeside(body, dispatch));
  const other = word === "max_tokens" ? "max_completion_tokens" : "max_tokens";
  if (body[word] === limit && !(other in body)) return nothing;
  return { [word]: limit, ...(other in body ? { [other]: undefined } : {}) };
}

const nothing: Readonly<Record<string, unknown>> = Object.freeze({});

/** Null is no limit, in either word. */
function limitIn(body: JsonObject, word: LimitWord): number | undefined {
  const limit = body[word];
  return typeof limit === "number" ? limit : undefined;
}

/** The upstream's usual word; but beside a prediction OpenAI takes the older one alone. */
const wordBeside = (body: JsonObject, dispatch: Dispatch): LimitWord =>
  (body["prediction"] ?? null) === null ? wordOf(dispatch) : "max_tokens";

const wordOf = (dispatch: Dispatch): LimitWord => limitWordFor(dispatch.upstream, modelOf(dispatch).name);
