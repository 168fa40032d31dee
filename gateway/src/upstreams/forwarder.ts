import { type Exchanged, isSuccessStatus } from "../operation/exchanged.ts";
import type { Dispatch, Forwarder, PreparedCall } from "../operation/forwarder.ts";
import type { ActingFor, Upstream } from "../operation/upstream.ts";
import { jsonIn, roughTextOf } from "./answers/answer-text.ts";
import type { HttpClient, HttpOutcome, HttpStream, OutcomeReader } from "./http/http-client.ts";
import { Inexpressible, type SseEvent } from "./dialects/dialect.ts";
import { isTooDeep, withExactNumbers } from "./dialects/exact-json.ts";
import type { OwnAnswer, Protocol, VendorRequest } from "./protocol.ts";
import { failureToldIn } from "./streams/opening-failure.ts";
import { readOutcome, type Understanding } from "./answers/read-outcome.ts";
import { renameModel } from "./rename-model.ts";
import { requestHeaders, type Headers } from "./request-headers.ts";
import { FrameRoom } from "./streams/sse.ts";
import type { BeginningReader } from "./streams/stream-opening.ts";
import { createStreamRelay } from "./streams/stream-relay.ts";
import { looksLikeEvents, WholeStream } from "./streams/whole-stream.ts";

/** Speaks to upstreams in their own protocols. Only what is listed here leaves; no header of the caller's does. */
export function createForwarder(http: HttpClient, protocols: Readonly<Record<string, Protocol>>): Forwarder {
  const room = new FrameRoom();
  return {
    prepare: (asked) => {
      const { model } = asked;
      const dispatch = !model || model.name === model.askedAs ? asked : renameModel(asked, model.name);
      const protocol = protocols[dispatch.upstream.protocol];
      if (!protocol) throw new Error(`There is no protocol "${dispatch.upstream.protocol}".`);
      try {
        const named = protocol.exchanges[dispatch.service.exchange];
        const exchange = protocol.exchangeInstead?.(dispatch) ?? named;
        if (!exchange) {
          throw new Error(`${dispatch.upstream.protocol} has no exchange "${dispatch.service.exchange}".`);
        }
        const request = exchange.request(dispatch);
        if ("answer" in request) return answeredHere(request, dispatch);
        return new ReadyCall({ http, room, protocol, exchange, dispatch }, request);
      } catch (error) {
        if (!(error instanceof Inexpressible)) throw error;
        const { field, message, details } = error;
        return { kind: "unsayable", field, message, details };
      }
    },
  };
}

/** By what a call is sent, and its answer understood. */
interface Speech extends Understanding {
  readonly http: HttpClient;
  readonly room: FrameRoom;
}

/** Classes, because there is one of each for every call. */
class ReadyCall implements PreparedCall {
  readonly kind = "ready";
  readonly answeredHere = false;
  readonly upstream: Upstream;
  readonly #speech: Speech;
  readonly #request: VendorRequest;
  readonly #hasForgotten: boolean;

  constructor(speech: Speech, request: VendorRequest, hasForgotten = false) {
    this.upstream = speech.dispatch.upstream;
    this.#speech = speech;
    this.#request = request;
    this.#hasForgotten = hasForgotten;
  }

  forgetting(): PreparedCall | undefined {
    const { exchange, dispatch } = this.#speech;
    const request = this.#hasForgotten ? undefined : exchange.forgettingRequest?.(dispatch);
    return request && new ReadyCall(this.#speech, request, true);
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

  get beginnings(): BeginningReader | undefined {
    return this.speech.exchange.beginnings;
  }

  read(told: HttpOutcome | HttpStream, opening?: SseEvent): Exchanged {
    if (told.kind === "streaming") return this.#passOn(told, opening);
    if (told.kind === "no_answer") return readOutcome(told, this);
    const answer = asAnswer(told, this.speech);
    const stream = streamIn(answer, this.speech);
    return stream ? this.#passOn(stream, stream.opening(this.beginnings)) : readOutcome(answer, this);
  }

  #passOn(stream: HttpStream, opening: SseEvent | undefined): Exchanged {
    const { protocol, exchange, dispatch, room } = this.speech;
    const failure = opening && failureToldIn(opening, this.speech);
    if (failure) {
      stream.leave();
      return readOutcome(failure, this);
    }
    const rules = exchange.stream?.(dispatch, protocol);
    if (!rules) throw new Error("A stream came for an exchange that has none.");
    const { contentType } = rules;
    const relay = createStreamRelay(stream, rules, dispatch.upstream.secrets, room);
    return { kind: "streaming", status: stream.status, contentType, relay };
  }
}

type HttpAnswer = Extract<HttpOutcome, { kind: "answered" }>;

/** An error that stands for an answer, as that answer; anything else as it came. */
function asAnswer(told: HttpAnswer, { exchange, dispatch }: Speech): HttpAnswer {
  if (isSuccessStatus(told.status) || exchange.answerIn === undefined) return told;
  const answer = exchange.answerIn(told.status, jsonIn(roughTextOf(told.body)), dispatch);
  if (answer === undefined) return told;
  return { ...told, status: 200, contentType: "application/json", body: Buffer.from(JSON.stringify(answer)) };
}

/**
 * What a vendor gave whole to a caller who asked for a stream, as the stream it should have been; and events for which
 * nobody asked, because what they used stands in them.
 */
function streamIn({ status, body }: HttpAnswer, { exchange, dispatch }: Speech): WholeStream | undefined {
  if (exchange.stream === undefined || !isSuccessStatus(status)) return undefined;
  // Whoever speaks another dialect and asked for a whole answer would get one that nobody ever wrote.
  if (!dispatch.streaming && exchange.translates?.(dispatch) === true) return undefined;
  if (looksLikeEvents(body)) return new WholeStream(status, body);
  if (!dispatch.streaming) return undefined;
  const text = roughTextOf(body);
  const json = isTooDeep(text) ? undefined : withExactNumbers(jsonIn(text), text);
  const events = exchange.asEvents?.(json, dispatch);
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

/** Nothing leaves for it. */
const answeredHere = ({ answer: json }: OwnAnswer, { upstream }: Dispatch): PreparedCall => ({
  kind: "ready",
  upstream,
  answeredHere: true,
  forgetting: () => undefined,
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
