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
  /** Fires when the caller stops waiting. */
  readonly signal: AbortSignal;
}

/** Sends the request once. The key goes into its header and nowhere else. */
export async function open(
  { method, path, body, headers, billed, idempotencyKey, signal }: OutgoingCall,
  transport: Transport,
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

/**
 * True when no connection was made, so that nothing can have happened at the other end. Browsers do not tell, so there every
 * failure stays in doubt.
 */
export const neverLeft = (cause: unknown): boolean =>
  untrusted(cause) !== undefined || errorsIn(cause).some(isUnreachable);

/** The runtime's word for why the other end was not trusted with the request. Trying again does not change it. */
export const untrusted = (cause: unknown): string | undefined =>
  errorsIn(cause)
    .map(({ code }) => code)
    .find((code) => typeof code === "string" && trustFailures.has(code)) as string | undefined;

/** Bun tells it in the error itself, Node in its cause. */
const errorsIn = (cause: unknown): Readonly<Record<string, unknown>>[] =>
  [cause, membersOf(cause)["cause"]].map(membersOf);

/**
 * A connection that was made can break with the same words, so where an error names its step, that must be an earlier one;
 * and where Node tried several addresses, all of them must have failed like this.
 */
function isUnreachable({ code, syscall, errors }: Readonly<Record<string, unknown>>): boolean {
  if (Array.isArray(errors) && errors.length > 0) return errors.map(membersOf).every(isUnreachable);
  if (code === "ETIMEDOUT") return syscall === "connect";
  if (syscall !== undefined && syscall !== "connect" && syscall !== "getaddrinfo") return false;
  return typeof code === "string" && connectFailures.has(code);
}

const connectFailures: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/**
 * The other end has no certificate that is trusted here, or does not speak TLS. `EPROTO` is not among them: Bun says it both
 * of a failed handshake and of a connection that broke later.
 */
const trustFailures: ReadonlySet<string> = new Set([
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "CERT_REVOKED",
  "CERT_UNTRUSTED",
  "CERT_REJECTED",
  "CERT_SIGNATURE_FAILURE",
  "CERT_CHAIN_TOO_LONG",
  "INVALID_CA",
  "INVALID_PURPOSE",
  "HOSTNAME_MISMATCH",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "ERR_SSL_WRONG_VERSION_NUMBER",
]);
