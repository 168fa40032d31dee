import { atLeast, timerMs } from "./check-setting.ts";
import { misuse } from "./errors.ts";
import type { Names, OperationTable } from "./operation-facts.ts";
import { patientFetch } from "./patient-fetch.ts";
import type { Transport } from "./transport.ts";
import { systemClock, type Clock } from "./waiting.ts";

export interface ClientOptions<Own extends OperationTable = OperationTable> {
  /** Refused when it is missing, so that what the environment holds can be passed on as it is. */
  readonly apiKey: string | undefined;
  readonly baseUrl?: string | undefined;
  /** What the operator calls the placeholders of paths and headers, where not the usual words. */
  readonly names?: Partial<Names>;
  /** The operations that this gateway has beside those that ship, as `tollgate contract --client` writes them. */
  readonly operations?: Own;
  /** How often one logical call is sent at most; 5 when not said. */
  readonly attemptsMax?: number;
  /** How long one attempt may take, and how long a stream may be silent; ten minutes when not said. */
  readonly attemptTimeoutMs?: number;
  /** A wait longer than this is left to you; a minute when not said. */
  readonly waitMaxMs?: number;
  /** Used in place of the runtime's own. It then decides by itself how long it waits for an answer. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly newIdempotencyKey?: () => string;
}

const baseUrlUsual = "http://127.0.0.1:8787";
const attemptsUsual = 5;
const attemptTimeoutUsualMs = 10 * 60_000;
const waitUsualMs = 60_000;

export function createTransport(options: ClientOptions, names: Names): Transport {
  // What is read from a file ends with a line break.
  const apiKey = options.apiKey?.trim();
  if (apiKey === undefined || apiKey === "") {
    throw misuse("missing_api_key", "The client needs an API key.", "credentials");
  }
  // No header can carry anything else, so nothing would ever be sent. A key that was copied in its shortened form, `tgk_…`,
  // ends up here.
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw misuse("invalid_api_key", "The API key has characters that no key has.", "credentials");
  }
  const baseUrl = (options.baseUrl ?? baseUrlUsual).trim();
  // Nothing could ever be reached there, and each call would use up all its attempts to find out.
  if (!canBeginAddress(baseUrl)) {
    throw misuse(
      "invalid_base_url",
      "baseUrl must be an address that begins with http:// or https://, without a user, a query or a fragment.",
    );
  }
  // Other clients are given it so, and every call would be answered that there is no such endpoint.
  if (/\/v1(beta)?\/*$/.test(baseUrl)) {
    throw misuse(
      "invalid_base_url",
      "baseUrl must be the address of the gateway without /v1 or /v1beta, which the client adds itself.",
    );
  }
  const { fetch: send = patientFetch } = options;
  return {
    baseUrl: baseUrl.replace(/\/+$/, ""),
    apiKey,
    headerWord: names.provider.toLowerCase(),
    // A browser's own fetch refuses to be called as the method of anything but its window.
    fetch: (url, init) => send(url, init),
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    newKey: options.newIdempotencyKey ?? createKey,
    attemptsMax: atLeast(1, "attemptsMax", options.attemptsMax ?? attemptsUsual),
    attemptTimeoutMs: timerMs("attemptTimeoutMs", options.attemptTimeoutMs ?? attemptTimeoutUsualMs),
    waitMaxMs: timerMs("waitMaxMs", options.waitMaxMs ?? waitUsualMs),
  };
}

/** Paths are appended to it, so it cannot have a query or a fragment; and no fetch accepts one with a user. */
function canBeginAddress(written: string): boolean {
  if (!/^https?:\/\/[^?#]*$/i.test(written) || !URL.canParse(written)) return false;
  const { username, password } = new URL(written);
  return username === "" && password === "";
}

/** As rare as a UUID, which browsers make only on pages that came over https. */
const createKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(
    "",
  );
