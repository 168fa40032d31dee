import type { Call } from "../../call/call.ts";
import type { Conventions } from "../../offer/conventions.ts";
import { limitLines } from "../wire/limit-headers.ts";

interface AnsweredCall extends Pick<Call, "id" | "known" | "offer"> {
  readonly conventions: Conventions;
}

interface AboutAnswer {
  /** When it is written. */
  readonly nowMs: number;
  readonly contentType: string | undefined;
  /** It comes piece by piece, whatever it is called. */
  readonly streams?: boolean;
  readonly retryAfterSeconds?: number | undefined;
  /** Whether a client should send the call again by itself; undefined where it may decide as it likes. */
  readonly retryable?: boolean | undefined;
  /** It is read by a page from another place. */
  readonly crossesOrigins?: boolean;
}

/** The headers of a call's answer, as lines. */
export function answerHeaders({ id, conventions, known, offer }: AnsweredCall, about: AboutAnswer): string {
  const { nowMs, contentType, streams = false, retryAfterSeconds, retryable, crossesOrigins = false } = about;
  let lines = `x-request-id: ${id}\r\n`;
  // By this name Anthropic's official client knows it.
  if (conventions.hasAnthropicClients) lines += `request-id: ${id}\r\n`;
  if (contentType !== undefined) lines += `content-type: ${plainOr(contentType)}\r\n`;
  if (streams) lines += "cache-control: no-cache\r\nx-accel-buffering: no\r\n";
  if (retryAfterSeconds !== undefined) lines += `retry-after: ${retryAfterSeconds}\r\n`;
  // Otherwise the official clients of two dialects repeat whatever ends with a 409 or a 5xx.
  if (retryable !== undefined) lines += `x-should-retry: ${retryable}\r\n`;
  if (crossesOrigins) lines += "access-control-allow-origin: *\r\naccess-control-expose-headers: *\r\n";
  if (known.requests) lines += limitLines("requests", known.requests, nowMs);
  if (known.tokens) lines += limitLines("tokens", known.tokens, nowMs);
  if (known.chargedMicros !== undefined)
    lines += `${offer.headers.costMicrosUsd}: ${known.chargedMicros}\r\n`;
  if (known.servedBySandbox === true) lines += `${offer.headers.upstream}: sandbox\r\n`;
  return lines;
}

/** An upstream says it, and nothing it says may end the line or begin another. */
const plainOr = (contentType: string): string =>
  plain.test(contentType) ? contentType : "application/octet-stream";

const plain = /^[\x20-\x7e]*$/;
