import {
  type Exchanged,
  type HiddenFailure,
  isSuccessStatus,
  type Lacked,
} from "../../operation/exchanged.ts";
import type { Dispatch } from "../../operation/forwarder.ts";
import type { ActingFor } from "../../operation/upstream.ts";
import { withoutAccountIds } from "./account-ids.ts";
import { exactTextOf, jsonIn, roughTextOf } from "./answer-text.ts";
import { isJsonObject } from "../../platform/json.ts";
import { withExactNumbers } from "../dialects/exact-json.ts";
import type { HttpOutcome } from "../http/http-client.ts";
import { aboutOurKey, type Exchange, type Protocol, type ToldError } from "../protocol.ts";
import { withoutLimits } from "./own-limits.ts";
import { isAboutOperator, refusedInWords, refusedOf } from "./refusal-subject.ts";
import { repeatsSecret } from "../repeated-secret.ts";
import { readRetryAfterSeconds } from "./retry-after.ts";

/** By what an answer is understood. */
export interface Understanding {
  readonly protocol: Protocol;
  readonly exchange: Exchange;
  readonly dispatch: Dispatch;
}

/** What was sent, and in whose name. */
interface Sent {
  readonly speech: Understanding;
  readonly actingFor: ActingFor | undefined;
}

type HttpAnswer = Extract<HttpOutcome, { kind: "answered" }>;
type Answered = Extract<Exchanged, { kind: "answered" }>;

/** What a whole answer says: that the call was refused, that it failed, or what is passed on and paid for. */
export function readOutcome(outcome: HttpOutcome, sent: Sent): Exchanged {
  if (outcome.kind === "no_answer") return outcome;
  const answer = isSuccessStatus(outcome.status) ? outcome : withoutAccount(outcome);
  const { exchange, dispatch, protocol } = sent.speech;
  const { status, contentType, body } = answer;
  const retryAfterSeconds = readRetryAfterSeconds(answer.retryAfter, answer.date);
  const callers = callersErrorIn(answer, sent);
  const refused = callers ? undefined : refusedByStatus(answer, retryAfterSeconds, sent);
  if (refused) return refused;
  const exact = exactTextOf(body);
  const text = exact ?? roughTextOf(body);
  if (tellsSecret(text, contentType, sent)) return withheld(status);
  const json = jsonIn(text);
  const refusedOutside = refusedInWords(status, json, protocol);
  if (refusedOutside) return refusedOutside;

  const succeeded = isSuccessStatus(status);
  const hiddenFailure = succeeded ? exchange.hiddenFailure?.(json, protocol) : undefined;
  const translates = exchange.translates?.(dispatch) === true;
  if (hiddenFailure !== undefined) {
    const inside = { failure: hiddenFailure, json, retryAfterSeconds, translates };
    const refusedInside = readHiddenFailure(inside, sent.speech);
    if (refusedInside) return refusedInside;
  }
  // Whatever an error says that it used, nothing is paid for it where it passes as it came.
  const isRead = json !== undefined && succeeded && (translates || typeof hiddenFailure !== "number");
  const reading = isRead
    ? exchange.read(translates ? withExactNumbers(json, text) : json, dispatch)
    : undefined;
  const asItCame: Answered = {
    kind: "answered",
    status,
    contentType,
    // A text that says every byte costs less to pass on than the bytes; one without a type would be given one on its way.
    body: contentType === undefined ? body : (exact ?? body),
    answer: { status, json },
    tokens: reading?.tokens,
    keptIds: reading?.keptIds,
    retryAfterSeconds,
    hiddenFailure: translates ? undefined : hiddenFailure,
    lacks: succeeded ? undefined : lackedBy(status, json, sent.speech),
  };
  return asTold(asItCame, reading, callers, sent.speech);
}

/** Whose account an error met stays between its vendor and the operator; what it says of the request, the caller needs. */
function withoutAccount(answer: HttpAnswer): HttpAnswer {
  const said = roughTextOf(answer.body);
  const told = withoutAccountIds(said);
  return told === said ? answer : { ...answer, body: Buffer.from(told) };
}

/** Whoever answers 404 to a call for a model has no such model, or nothing at all where it was asked. */
function lackedBy(status: number, json: unknown, { exchange, dispatch }: Understanding): Lacked | undefined {
  if (exchange.isKeptElsewhere?.(status, json) === true) return "what the call goes on with";
  return status === 404 && dispatch.model !== undefined ? "model" : undefined;
}

/** A failure that was told with the status of a success. */
interface HiddenError {
  readonly failure: HiddenFailure;
  readonly json: unknown;
  readonly retryAfterSeconds: number | undefined;
  /** The answer cannot pass as it came. */
  readonly translates: boolean;
}

/** What it is where it must not pass as it came; undefined where it may. */
function readHiddenFailure(
  { failure, json, retryAfterSeconds, translates }: HiddenError,
  { exchange, protocol }: Understanding,
): Exchanged | undefined {
  if (failure === "malformed") return translates ? unreadable : undefined;
  const error = exchange.errorBody?.(json) ?? json;
  const refused = refusedOf(failure, error, retryAfterSeconds);
  if (refused && (translates || isAboutOperator(failure, error))) return refused;
  return refusedInWords(failure, error, protocol);
}

/** The answer as its caller is told it: as it came, or in other words. */
function asTold(
  asItCame: Answered,
  reading: ReturnType<Exchange["read"]> | undefined,
  callers: ToldError | undefined,
  { exchange, dispatch }: Understanding,
): Answered {
  if (callers) {
    const told = exchange.readError?.(callers.status, callers.json, dispatch) ?? callers.json;
    return rewritten({ ...asItCame, status: callers.status }, told);
  }
  if (reading?.error !== undefined)
    return rewritten({ ...asItCame, status: reading.error.status }, reading.error.json);
  const asBilled = reading?.asBilled;
  if (asBilled) return { ...asItCame, asBilled: (used) => rewritten(asItCame, asBilled(used)) };
  const { status, answer, hiddenFailure } = asItCame;
  // It was not read for what it costs, which is nothing.
  if (typeof hiddenFailure === "number" && isJsonObject(answer.json)) {
    const told = withoutLimits(answer.json);
    return told === undefined ? asItCame : rewritten(asItCame, told);
  }
  const isError = answer.json !== undefined && !isSuccessStatus(status);
  const inOurWords = isError ? exchange.readError?.(status, answer.json, dispatch) : reading?.json;
  return inOurWords === undefined ? asItCame : rewritten(asItCame, inOurWords);
}

function callersErrorIn(
  { status, body }: HttpAnswer,
  { speech: { protocol }, actingFor }: Sent,
): ToldError | undefined {
  if (actingFor || !protocol.callersError || !aboutOurKey.has(status)) return undefined;
  return protocol.callersError(status, jsonIn(roughTextOf(body)));
}

/** What the status alone decides, or with the words beside it: vendors tell of debts with many a status. */
function refusedByStatus(
  { status, body }: HttpAnswer,
  retryAfterSeconds: number | undefined,
  { speech: { protocol }, actingFor }: Sent,
): Exchanged | undefined {
  if (actingFor && status === 401) return { kind: "link_rejected", status };
  if (isSuccessStatus(status) || (actingFor && status !== 429)) return undefined;
  const json = jsonIn(roughTextOf(body));
  return refusedOf(status, json, retryAfterSeconds ?? protocol.waitToldIn?.(json));
}

/** An upstream that repeats what it was shown in confidence, a linked account's token too, must not tell it the caller. */
function tellsSecret(
  text: string,
  contentType: string | undefined,
  { speech: { dispatch }, actingFor }: Sent,
): boolean {
  const { secrets: ours } = dispatch.upstream;
  const secrets = actingFor ? [actingFor.accessToken, ...ours] : ours;
  return repeatsSecret(secrets, text) || repeatsSecret(secrets, contentType ?? "");
}

/** Only a refusal says that nothing was done; behind any other status the work may be done and paid for. */
const withheld = (status: number): Exchanged =>
  status >= 400 && status <= 499 ? { kind: "key_rejected", status } : unreadable;

const unreadable: Exchanged = { kind: "no_answer", reason: "malformed", sent: true };

const rewritten = (answered: Answered, json: unknown): Answered => ({
  ...answered,
  contentType: "application/json",
  body: Buffer.from(JSON.stringify(json)),
  answer: { status: answered.status, json },
});
