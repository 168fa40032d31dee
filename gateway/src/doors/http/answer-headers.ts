import type { Call } from "../../call/call.ts";
import { resetSecondsOf } from "../../limits/limit-times.ts";
import type { SeenStanding } from "../../limits/call-limits.ts";
import type { Offer } from "../../offer/offer.ts";
import { isAnthropicPath } from "../../platform/dialect.ts";

/** The headers of one answer, to be copied into a `Response` before the next answer's are asked for. */
export type AnswerHeaders = (call: Call, about: AboutAnswer) => Headers;

interface AboutAnswer {
  /** When it is written. */
  readonly nowMs: number;
  readonly contentType: string | undefined;
  /** It comes piece by piece, whatever it is called. */
  readonly streams?: boolean;
  readonly retryAfterSeconds?: number | undefined;
  /** The connection ends with this answer. */
  readonly closes?: boolean;
  /** Whether a client should send the call again by itself; undefined where it may decide as it likes. */
  readonly retryable?: boolean | undefined;
  /** It is read by a page from another place. */
  readonly crossesOrigins?: boolean;
}

/**
 * Nine headers cost more than many a step of the call, and most of them say what the last answer's said. So there is
 * one sheet, on which only what differs is written anew; a `Response` takes a copy of it, which is cheap.
 */
export function createAnswerHeaders(): AnswerHeaders {
  let sheet = new Headers();
  const written: (string | number | bigint | undefined)[] = [];
  /** Headers are put in the same order each time, so each is known by its place. */
  let place = 0;
  let names: Offer["headers"] | undefined;

  const put = (name: string, value: string | number | bigint | undefined): void => {
    const at = place++;
    if (written[at] === value) return;
    written[at] = value;
    if (value === undefined) sheet.delete(name);
    else sheet.set(name, String(value));
  };

  const putLimit = (names: LimitNames, standing: SeenStanding | undefined, nowMs: number): void => {
    put(names.limit, standing?.limit);
    put(names.remaining, standing?.remaining);
    put(names.reset, standing && resetSecondsOf(standing.resetsAtMs, nowMs));
  };

  return ({ id, path, known, offer }, about) => {
    const { nowMs, contentType, streams = false, retryAfterSeconds, retryable } = about;
    const { closes = false, crossesOrigins = false } = about;
    if (offer.headers !== names) {
      // Another offer may call them differently, and what the one before wrote must not stay.
      sheet = new Headers();
      written.length = 0;
      names = offer.headers;
    }
    place = 0;
    put("x-request-id", id);
    // By this name the dialect's official client knows it.
    put("request-id", isAnthropicPath(path) ? id : undefined);
    put("content-type", contentType);
    put("cache-control", streams ? "no-cache" : undefined);
    put("x-accel-buffering", streams ? "no" : undefined);
    put("retry-after", retryAfterSeconds);
    // The official clients of two dialects would else repeat whatever ends with a 409 or a 5xx.
    put("x-should-retry", retryable === undefined ? undefined : String(retryable));
    put("access-control-allow-origin", crossesOrigins ? "*" : undefined);
    put("access-control-expose-headers", crossesOrigins ? "*" : undefined);
    put("connection", closes ? "close" : undefined);
    putLimit(requestsLimit, known.requests, nowMs);
    putLimit(tokensLimit, known.tokens, nowMs);
    put(offer.headers.costMicrosUsd, known.costMicros);
    put(offer.headers.upstream, known.servedBySandbox === true ? "sandbox" : undefined);
    return sheet;
  };
}

/** Says how the limit on requests stands, at a door whose answers are written by somebody else. */
export function tellRequestsLimit(headers: Headers, standing: SeenStanding, nowMs: number): void {
  headers.set(requestsLimit.limit, String(standing.limit));
  headers.set(requestsLimit.remaining, String(standing.remaining));
  headers.set(requestsLimit.reset, String(resetSecondsOf(standing.resetsAtMs, nowMs)));
}

interface LimitNames {
  readonly limit: string;
  readonly remaining: string;
  readonly reset: string;
}

const limitNames = (of: string): LimitNames => ({
  limit: `x-ratelimit-limit-${of}`,
  remaining: `x-ratelimit-remaining-${of}`,
  reset: `x-ratelimit-reset-${of}`,
});

const requestsLimit = limitNames("requests");
const tokensLimit = limitNames("tokens");
