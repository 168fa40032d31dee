import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate } from "node:zlib";
import type { NoAnswerReason } from "../operation/upstream.ts";

/** Sends one request and reads one answer, whatever the other side does. */
export interface HttpClient {
  readonly send: (request: HttpRequest) => Promise<HttpOutcome>;
}

export interface HttpRequest {
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
      readonly body: Uint8Array;
    }
  | { readonly kind: "no_answer"; readonly reason: NoAnswerReason; readonly sent: boolean };

/** An answer is read whole, so it is bounded; video and files never pass through here. */
const answerBytesMax = 64 * 1024 * 1024;
/** Once an answer has begun it must end within this time. */
const bodyTimeoutMs = 60_000;

/** Errors that mean no connection came about, so nothing can have been sent. */
const neverConnected: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ConnectionRefused",
  "FailedToOpenSocket",
]);

export const httpClient: HttpClient = { send };

async function send(request: HttpRequest): Promise<HttpOutcome> {
  const abort = new AbortController();
  let timedOut = false;
  const giveUp = (): void => {
    timedOut = true;
    abort.abort();
  };
  let timer = setTimeout(giveUp, request.firstByteTimeoutMs);
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
    clearTimeout(timer);
    timer = setTimeout(giveUp, bodyTimeoutMs);
    return await read(response, abort);
  } catch (error) {
    if (timedOut) return { kind: "no_answer", reason: "timeout", sent: true };
    const unreachable = neverConnected.has(codeOf(error));
    return { kind: "no_answer", reason: unreachable ? "unreachable" : "cut_off", sent: !unreachable };
  } finally {
    clearTimeout(timer);
  }
}

async function read(response: Response, abort: AbortController): Promise<HttpOutcome> {
  if (response.status >= 300 && response.status < 400) {
    abort.abort();
    return { kind: "no_answer", reason: "redirect", sent: true };
  }
  if (response.status < 200 || response.status > 599) {
    abort.abort();
    return { kind: "no_answer", reason: "malformed", sent: true };
  }
  const raw = await readAtMost(response, answerBytesMax);
  const body = raw && (await decompress(raw, response.headers.get("content-encoding")));
  if (!body) {
    abort.abort();
    return { kind: "no_answer", reason: "too_large", sent: true };
  }
  return {
    kind: "answered",
    status: response.status,
    contentType: response.headers.get("content-type") ?? undefined,
    retryAfter: response.headers.get("retry-after") ?? undefined,
    body,
  };
}

/** Undefined when there is more than `bytesMax`. */
async function readAtMost(response: Response, bytesMax: number): Promise<Uint8Array | undefined> {
  const announced = response.headers.get("content-length");
  if (announced !== null) return Number(announced) > bytesMax ? undefined : response.bytes();
  if (!response.body) return new Uint8Array();
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of response.body) {
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
async function decompress(body: Uint8Array, encoding: string | null): Promise<Uint8Array | undefined> {
  const coding = encoding?.trim().toLowerCase() ?? "identity";
  if (coding === "identity" || coding === "") return body;
  if (coding !== "gzip" && coding !== "deflate" && coding !== "br") return undefined;
  try {
    return await inflaters[coding](body, { maxOutputLength: answerBytesMax });
  } catch {
    return undefined;
  }
}

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
