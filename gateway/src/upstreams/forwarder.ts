import {
  isSuccessStatus,
  type ActingFor,
  type Dispatch,
  type Exchanged,
  type Forwarder,
  type PreparedCall,
  type Upstream,
} from "../operation/upstream.ts";
import type { HttpClient, HttpOutcome, HttpStream, OutcomeReader } from "./http-client.ts";
import { Inexpressible } from "./dialects/dialect.ts";
import { withExactArguments } from "./dialects/exact-json.ts";
import { aboutOurKey, type Exchange, type OwnAnswer, type Protocol, type VendorRequest } from "./protocol.ts";
import { refusalSubject } from "./refusal-subject.ts";
import { renameModel } from "./rename-model.ts";
import { repeatsSecret } from "./repeated-secret.ts";
import { requestHeaders, type Headers } from "./request-headers.ts";
import { readRetryAfterSeconds } from "./retry-after.ts";
import { FrameRoom } from "./sse.ts";
import { createStreamRelay } from "./stream-relay.ts";
import { looksLikeEvents, WholeStream } from "./whole-stream.ts";

/** Speaks to upstreams in their own protocols. Only what is listed here leaves; no header of the caller's does. */
export function createForwarder(http: HttpClient, protocols: Readonly<Record<string, Protocol>>): Forwarder {
  const room = new FrameRoom();
  return {
    prepare: (asked) => {
      const dispatch = asked.model === asked.modelAsked ? asked : renameModel(asked);
      const protocol = protocols[dispatch.upstream.protocol];
      const exchange = protocol?.exchanges[dispatch.service.exchange];
      if (!protocol || !exchange) {
        throw new Error(`${dispatch.upstream.protocol} has no exchange "${dispatch.service.exchange}".`);
      }
      try {
        const request = exchange.request(dispatch);
        if ("answer" in request) return answeredHere(request, dispatch);
        return new ReadyCall({ http, room, protocol, exchange, dispatch }, request);
      } catch (error) {
        if (!(error instanceof Inexpressible)) throw error;
        return { kind: "inexpressible", field: error.field, message: error.message };
      }
    },
  };
}

/** By what a call is sent, and its answer understood. */
interface Speech {
  readonly http: HttpClient;
  readonly room: FrameRoom;
  readonly protocol: Protocol;
  readonly exchange: Exchange;
  readonly dispatch: Dispatch;
}

/** Classes, because there is one of each for every call. */
class ReadyCall implements PreparedCall {
  readonly kind = "ready";
  readonly answeredHere = false;
  readonly upstream: Upstream;
  readonly #speech: Speech;
  readonly #request: VendorRequest;

  constructor(speech: Speech, request: VendorRequest) {
    this.upstream = speech.dispatch.upstream;
    this.#speech = speech;
    this.#request = request;
  }

  send(actingFor?: ActingFor): Promise<Exchanged> {
    const { http, exchange, dispatch } = this.#speech;
    const { method, path, body } = this.#request;
    const { upstream } = this;
    const streaming = dispatch.streaming && exchange.stream !== undefined;
    const sending = new Sending(this.#speech, actingFor);
    const request = {
      url: upstream.url + pathFor(path, actingFor),
      query: upstream.query?.text,
      method,
      headers: headersOf(this.#request, sending, streaming),
      requestId: dispatch.callId,
      body,
      firstByteTimeoutMs: upstream.timeoutMs ?? dispatch.firstByteTimeoutMs,
      silenceTimeoutMs: upstream.timeoutMs,
    };
    return http.ask(request, streaming, sending);
  }
}

class Sending implements OutcomeReader<HttpOutcome | HttpStream, Exchanged> {
  readonly speech: Speech;
  readonly actingFor: ActingFor | undefined;

  constructor(speech: Speech, actingFor: ActingFor | undefined) {
    this.speech = speech;
    this.actingFor = actingFor;
  }

  read(outcome: HttpOutcome | HttpStream): Exchanged {
    if (outcome.kind === "streaming") return this.#passOn(outcome);
    const stream = outcome.kind === "answered" ? streamIn(outcome, this.speech) : undefined;
    return stream ? this.#passOn(stream) : exchangedOf(outcome, this);
  }

  #passOn(stream: HttpStream): Exchanged {
    const { exchange, dispatch, room } = this.speech;
    const rules = exchange.stream?.(dispatch);
    if (!rules) throw new Error("A stream came for an exchange that has none.");
    const { contentType } = rules;
    const relay = createStreamRelay(stream, rules, dispatch.upstream.secrets, room);
    return { kind: "streaming", status: stream.status, contentType, relay };
  }
}

/**
 * What a vendor gave whole to a caller who asked for a stream, as the stream it should have been; and events for which
 * nobody asked, because what they used stands in them.
 */
function streamIn(
  { status, body }: Extract<HttpOutcome, { kind: "answered" }>,
  { exchange, dispatch }: Speech,
): HttpStream | undefined {
  if (exchange.stream === undefined || !isSuccessStatus(status)) return undefined;
  // Whoever speaks another dialect and asked for a whole answer would get one that nobody ever wrote.
  if (!dispatch.streaming && exchange.translates?.(dispatch) === true) return undefined;
  if (looksLikeEvents(body)) return new WholeStream(status, body);
  if (!dispatch.streaming) return undefined;
  const text = roughly.decode(body);
  const events = exchange.asEvents?.(withExactArguments(parse(text), text), dispatch);
  return events === undefined ? undefined : new WholeStream(status, Buffer.from(events));
}

const pathFor = (path: string, actingFor: ActingFor | undefined): string =>
  actingFor ? path.replace("{user_id}", encodeURIComponent(actingFor.userId)) : path;

function headersOf(request: VendorRequest, sending: Sending, streaming: boolean): Headers {
  const { upstream } = sending.speech.dispatch;
  if (sending.actingFor || !isEmpty(request.headers)) return writeHeaders(request, sending, streaming);
  const kind =
    `${request.body === undefined ? "empty" : "filled"} ${streaming ? "stream" : "whole"}` as const;
  let kept = usualHeaders.get(upstream);
  if (!kept) usualHeaders.set(upstream, (kept = {}));
  return (kept[kind] ??= writeHeaders(request, sending, streaming));
}

/** What an upstream hears with nearly every request of a kind, put together once. */
const usualHeaders = new WeakMap<Upstream, Partial<Record<string, Headers>>>();

const isEmpty = (headers: Headers | undefined): boolean =>
  headers === undefined || Object.keys(headers).length === 0;

const writeHeaders = (
  { body, headers }: VendorRequest,
  { speech, actingFor }: Sending,
  streaming: boolean,
): Headers =>
  requestHeaders(speech.dispatch.upstream, {
    accept: streaming ? "text/event-stream" : "application/json",
    hasBody: body !== undefined,
    headers,
    accessToken: actingFor?.accessToken,
  });

const isRefusalStatus = (status: number): boolean => status >= 400 && status <= 499;

function exchangedOf(outcome: HttpOutcome, { speech, actingFor }: Sending): Exchanged {
  if (outcome.kind === "no_answer") return outcome;
  const { exchange, dispatch, protocol } = speech;
  const { status, contentType, body } = outcome;
  const retryAfterSeconds = readRetryAfterSeconds(outcome.retryAfter, outcome.date);
  if (actingFor && status === 401) return { kind: "link_rejected", status };
  if (status === 429 || (!actingFor && aboutOurKey.has(status))) {
    const json = parse(roughly.decode(body));
    const refused = refusedOf(status, json, retryAfterSeconds ?? protocol.waitToldIn?.(json));
    if (refused) return refused;
  }
  const exact = exactTextOf(body);
  const text = exact ?? roughly.decode(body);
  // An upstream that repeats what it was shown in confidence, a linked account's token too, must not tell it the caller.
  const { secrets: ours } = dispatch.upstream;
  const secrets = actingFor ? [actingFor.accessToken, ...ours] : ours;
  if (repeatsSecret(secrets, text) || repeatsSecret(secrets, contentType ?? "")) {
    // Only a refusal says that nothing was done; behind any other status the work may be done and paid for.
    return isRefusalStatus(status)
      ? { kind: "key_rejected", status }
      : { kind: "no_answer", reason: "malformed", sent: true };
  }

  const json = parse(text);
  if (protocol.isAboutOperator?.(status, json) === true) {
    const outOfCredit = status === 402 || protocol.isOutOfCredit?.(status, json) || undefined;
    return { kind: "key_rejected", status, outOfCredit };
  }
  const hiddenFailure = isSuccessStatus(status) ? exchange.hiddenFailure?.(json) : undefined;
  const translates = exchange.translates?.(dispatch) === true;
  // Nothing of it can pass as it came, so it is told as what it is.
  if (hiddenFailure === "malformed" && translates)
    return { kind: "no_answer", reason: "malformed", sent: true };
  if (typeof hiddenFailure === "number") {
    const refused = refusedOf(hiddenFailure, json, retryAfterSeconds);
    if (refused && (translates || isAboutOperator(refused))) return refused;
  }
  const succeeded = json !== undefined && isSuccessStatus(status);
  const reading = succeeded
    ? exchange.read(translates ? withExactArguments(json, text) : json, dispatch)
    : undefined;
  const failed = json !== undefined && !succeeded;
  const inOurWords = failed ? exchange.readError?.(status, json, dispatch) : reading?.json;
  const asItCame: Answered = {
    kind: "answered",
    status,
    contentType,
    // A text that says every byte costs less to pass on than the bytes; one without a type would be given one on its way.
    body: contentType === undefined ? body : (exact ?? body),
    answer: { status, json },
    tokens: reading?.tokens,
    retryAfterSeconds,
    hiddenFailure: translates ? undefined : hiddenFailure,
  };
  if (reading?.error !== undefined)
    return rewritten({ ...asItCame, status: reading.error.status }, reading.error.json);
  return inOurWords === undefined ? asItCame : rewritten(asItCame, inOurWords);
}

type Refused = Extract<Exchanged, { kind: "rate_limited" | "key_rejected" }>;

/** A refusal that is not passed on as it came: a limit, or one about the operator. */
function refusedOf(
  status: number,
  json: unknown,
  retryAfterSeconds: number | undefined,
): Refused | undefined {
  const subject = refusalSubject(status, json);
  const outOfCredit = subject === "credit" || undefined;
  if (status === 429) return { kind: "rate_limited", status, retryAfterSeconds, outOfCredit };
  // What the caller wrote is the caller's to mend, and another key would not help.
  if (!aboutOurKey.has(status) || subject === "content") return undefined;
  return { kind: "key_rejected", status, outOfCredit, callTooLarge: subject === "call_size" || undefined };
}

/** What a vendor says of the operator's key or credit is no business of the caller's. */
const isAboutOperator = ({ kind, outOfCredit }: Refused): boolean =>
  kind === "key_rejected" || outOfCredit === true;

/** Nothing leaves for it. */
const answeredHere = ({ answer: json }: OwnAnswer, { upstream }: Dispatch): PreparedCall => ({
  kind: "ready",
  upstream,
  answeredHere: true,
  send: async () => ({
    kind: "answered",
    status: 200,
    contentType: "application/json",
    body: Buffer.from(JSON.stringify(json)),
    answer: { status: 200, json },
    tokens: undefined,
    retryAfterSeconds: undefined,
  }),
});

type Answered = Extract<Exchanged, { kind: "answered" }>;

const rewritten = (answered: Answered, json: unknown): Answered => ({
  ...answered,
  contentType: "application/json",
  body: Buffer.from(JSON.stringify(json)),
  answer: { status: answered.status, json },
});

/** Undefined where the bytes are no text. */
function exactTextOf(body: Uint8Array): string | undefined {
  try {
    return exactly.decode(body);
  } catch {
    return undefined;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text.startsWith(byteOrderMark) ? text.slice(1) : text);
  } catch {
    return undefined;
  }
}

const exactly = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const roughly = new TextDecoder();
const byteOrderMark = "\u{feff}";
