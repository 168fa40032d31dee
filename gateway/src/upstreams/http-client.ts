import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";
import type { NoAnswerReason } from "../operation/upstream.ts";
import { systemClock } from "../platform/clock.ts";
import { createDeadlines } from "../platform/deadlines.ts";
import { watchSilence } from "../platform/silence-watch.ts";

/** Sends one request and reads one answer, whatever the other side does. */
export interface HttpClient {
  readonly send: (request: HttpRequest) => Promise<HttpOutcome>;
  /** As `send`, but a 2xx answer of server-sent events is handed over as it comes. */
  readonly open: (request: HttpRequest) => Promise<HttpOutcome | HttpStream>;
}

/** An answer that is still coming. It is asked for piece by piece, so a slow reader slows the upstream down. */
export interface HttpStream {
  readonly kind: "streaming";
  readonly status: number;
  /** The next piece; undefined at its proper end. Throws when the upstream falls silent, breaks off or was left. */
  readonly next: () => Promise<Uint8Array | undefined>;
  /** Ends the connection. */
  readonly leave: () => void;
}

interface HttpRequest {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
  readonly firstByteTimeoutMs: number;
}

export type HttpOutcome =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly contentType: string | undefined;
      readonly retryAfter: string | undefined;
      /** When the upstream says it answered; what a Retry-After given as a date counts from. */
      readonly date: string | undefined;
      readonly body: Uint8Array;
    }
  | { readonly kind: "no_answer"; readonly reason: NoAnswerReason; readonly sent: boolean };

interface Limits {
  /** An answer is read whole, so it is bounded; video and files never pass through here. */
  readonly answerBytesMax: number;
  /** Once an answer has begun it must end within this time. */
  readonly bodyTimeoutMs: number;
  /** How long a stream may be silent, and how long it may last in all. */
  readonly silenceTimeoutMs: number;
  readonly streamTimeoutMs: number;
}

const usualLimits: Limits = {
  answerBytesMax: 64 * 1024 * 1024,
  bodyTimeoutMs: 60_000,
  silenceTimeoutMs: 60_000,
  streamTimeoutMs: 15 * 60_000,
};

export function createHttpClient(changes: Partial<Limits> = {}): HttpClient {
  const limits = { ...usualLimits, ...changes };
  return {
    send: (request) => exchange(request, limits, (response) => read(response, limits.answerBytesMax)),
    open: (request) =>
      exchange<HttpOutcome | HttpStream>(request, limits, (response, abort) =>
        isEventStream(response) ? streamOf(response, abort, limits) : read(response, limits.answerBytesMax),
      ),
  };
}

export const httpClient: HttpClient = createHttpClient();

const deadlines = createDeadlines(systemClock.monotonicMs);

/** Sends the request and lets `take` have the answer, within the time each of the two may need. */
async function exchange<Taken extends HttpOutcome | HttpStream>(
  request: HttpRequest,
  limits: Limits,
  take: (response: Response, abort: AbortController) => Taken | Promise<Taken>,
): Promise<Taken | HttpOutcome> {
  const abort = new AbortController();
  let timedOut = false;
  const deadline = deadlines.set(request.firstByteTimeoutMs, () => {
    timedOut = true;
    abort.abort();
  });
  try {
    const response = await fetch(request.url, {
      method: request.method,
      headers: request.headers,
      ...(request.body === undefined ? {} : { body: request.body }),
      redirect: "manual",
      decompress: false,
      // Bun sends a GET a second time when a kept-alive connection closes under it. A call that is
      // paid for must leave this process once, so each GET gets a connection of its own.
      keepalive: request.method !== "GET",
      signal: abort.signal,
    });
    deadlines.move(deadline, limits.bodyTimeoutMs);
    const outcome = await take(response, abort);
    // Whatever is still to come is not wanted; the connection goes with it.
    if (outcome.kind === "no_answer") abort.abort();
    return outcome;
  } catch (error) {
    return timedOut ? noAnswer("timeout") : outcomeOf(codeOf(error));
  } finally {
    deadlines.end(deadline);
  }
}

const isEventStream = ({ status, headers }: Response): boolean =>
  status >= 200 &&
  status < 300 &&
  !headers.has("content-encoding") &&
  headers.get("content-type")?.startsWith("text/event-stream") === true;

function streamOf(response: Response, abort: AbortController, limits: Limits): HttpStream {
  const stream: ReadableStream<Uint8Array> | null = response.body;
  const reader = stream?.getReader();
  const whole = deadlines.set(limits.streamTimeoutMs, () => abort.abort());
  const silence = watchSilence(limits.silenceTimeoutMs, () => abort.abort());
  const end = (): void => {
    deadlines.end(whole);
    silence.end();
  };
  const take = (piece: { readonly value?: Uint8Array | undefined }): Uint8Array | undefined => {
    silence.heard();
    if (piece.value === undefined) end();
    return piece.value;
  };
  const fail = (error: unknown): never => {
    end();
    throw error;
  };
  return {
    kind: "streaming",
    status: response.status,
    next: () => {
      silence.wait();
      return reader ? reader.read().then(take, fail) : Promise.resolve(take({}));
    },
    leave: () => {
      end();
      abort.abort();
    },
  };
}

const noAnswer = (reason: NoAnswerReason): HttpOutcome => ({
  kind: "no_answer",
  reason,
  sent: reason !== "unreachable",
});

/**
 * Errors that mean no connection came about, or that its certificate was refused, so no request can have been
 * sent. EPROTO is not among them: a broken TLS record says it too, after the vendor has read the request.
 */
const neverConnected =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ConnectionRefused|FailedToOpenSocket)$|CERT|^UNABLE_TO_/;

/** Bun's words for an answer that is not HTTP. */
const notHttp =
  /^(Malformed_HTTP_Response|Invalid(ContentLength|HTTPResponse)|UnrequestedUpgrade|ResponseHeadersTooLarge)$/;

function outcomeOf(code: string): HttpOutcome {
  if (neverConnected.test(code)) return noAnswer("unreachable");
  return noAnswer(notHttp.test(code) ? "malformed" : "cut_off");
}

async function read(response: Response, bytesMax: number): Promise<HttpOutcome> {
  const { status, headers } = response;
  if (status >= 300 && status < 400) return noAnswer("redirect");
  const announced = headers.get("content-length");
  if (status < 200 || status > 599 || isFramedTwice(announced, headers)) return noAnswer("malformed");
  const raw = await readAtMost(response, announced, bytesMax);
  if (!raw) return noAnswer("too_large");
  const encoding = headers.get("content-encoding");
  const body = encoding === null ? raw : await decompress(raw, encoding, bytesMax);
  if (typeof body === "string") return noAnswer(body);
  const retryAfter = headers.get("retry-after") ?? undefined;
  return {
    kind: "answered",
    status,
    contentType: headers.get("content-type") ?? undefined,
    retryAfter,
    date: retryAfter === undefined ? undefined : (headers.get("date") ?? undefined),
    body,
  };
}

/** Two lengths, or a length beside chunks: two readers could see two different answers. */
function isFramedTwice(announced: string | null, headers: Headers): boolean {
  return announced !== null && (!/^\d+$/.test(announced) || headers.has("transfer-encoding"));
}

/** Undefined when there is more than `bytesMax`. */
async function readAtMost(
  response: Response,
  announced: string | null,
  bytesMax: number,
): Promise<Uint8Array | undefined> {
  if (announced !== null) return Number(announced) > bytesMax ? undefined : response.bytes();
  const stream: ReadableStream<Uint8Array> | null = response.body;
  if (!stream) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of stream) {
    total += chunk.byteLength;
    if (total > bytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const inflaters = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
} as const;

/** We ask for no compression; an upstream that compresses all the same is read within the same bound. */
async function decompress(
  body: Uint8Array,
  encoding: string,
  bytesMax: number,
): Promise<Uint8Array | "too_large" | "malformed"> {
  const coding = encoding.trim().toLowerCase();
  if (coding === "identity" || coding === "") return body;
  if (coding !== "gzip" && coding !== "deflate" && coding !== "br") return "malformed";
  try {
    return await inflaters[coding](body, { maxOutputLength: bytesMax });
  } catch (error) {
    return codeOf(error) === "ERR_BUFFER_TOO_LARGE" ? "too_large" : "malformed";
  }
}

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
