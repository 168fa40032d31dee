import { membersOf } from "./read-answer.ts";
import type { Clock } from "./waiting.ts";

/** Everything a client is made of; each call borrows it. */
export interface Transport {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** The word in `X-<word>-Cost-Mode` and its sisters, in lower case. */
  readonly headerWord: string;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly newKey: () => string;
  /** How often one logical call is sent at most. */
  readonly attemptsMax: number;
  /** How long one attempt may take; then it counts as unanswered. */
  readonly attemptTimeoutMs: number;
  /** A wait longer than this is left to the caller. */
  readonly waitMaxMs: number;
}

/** One request, as it is sent on every attempt. */
export interface OutgoingCall {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly billed: boolean;
  /** Constant over all attempts of one logical call; absent where the gateway does not take one. */
  readonly idempotencyKey: string | undefined;
  /** The same key brings the same answer again, as the create of a task does. */
  readonly repeatsAnswer?: boolean;
}

/** Sends the request once. The key goes into its header and nowhere else. */
export async function open(
  { method, path, body, headers, billed, idempotencyKey }: OutgoingCall,
  transport: Transport,
  signal: AbortSignal,
): Promise<Response> {
  return transport.fetch(transport.baseUrl + path, {
    method,
    headers: {
      ...headers,
      authorization: `Bearer ${transport.apiKey}`,
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    },
    ...(body === undefined ? {} : { body }),
    redirect: "error",
    // Bun sends a GET again by itself when a connection it kept closes under it, which could be paid twice; a
    // connection of its own cannot. To others this says only that the request need not outlive its page.
    ...(billed && idempotencyKey === undefined ? { keepalive: false } : {}),
    signal,
  });
}

/** True when no connection came about, so that nothing can have happened at the other end. */
export function neverLeft(cause: unknown): boolean {
  const codes = [cause, membersOf(cause)["cause"]].map((error) => membersOf(error)["code"]);
  return codes.some((code) => typeof code === "string" && connectFailures.has(code));
}

/** Browsers do not tell; there every failure stays in doubt. */
const connectFailures: ReadonlySet<string> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);
