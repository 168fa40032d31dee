import { isSpelledAt } from "../../platform/header-name.ts";
import { keepsAlive } from "../../platform/keep-alive.ts";

/** What an answer says before its body: of its headers only what somebody here needs. */
export interface ResponseHead {
  readonly status: number;
  /** Undefined where the body ends otherwise. */
  readonly contentLength: number | undefined;
  readonly chunked: boolean;
  /** Whether the connection may serve again; the shortest time for which the other side keeps it, if it says one. */
  readonly keepAlive: boolean;
  readonly keepAliveSeconds: number | undefined;
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  /** From the header of that name or, where there is none, from another in which a 429 says the same. */
  readonly retryAfter: string | undefined;
  /** Told beside Retry-After only. */
  readonly date: string | undefined;
}

/**
 * Reads a head, from its first byte up to and including its last header's line end, one byte in each character. It is
 * read strictly, and undefined when it is not exactly HTTP or frames its body in two ways: two readers who took two
 * different answers out of the same bytes would be a hole.
 */
export function readResponseHead(text: string): ResponseHead | undefined {
  if (!wholeHead.test(text)) return undefined;
  const status = digitsIn(text, 9, 12);
  if (status < 100 || status > 599 || status === 101) return undefined;
  let contentLength: number | undefined;
  let transferEncoding: string | undefined;
  let connection: string | undefined;
  let keepAliveSeconds: number | undefined;
  let contentType: string | undefined;
  let contentEncoding: string | undefined;
  let retryAfter: string | undefined;
  for (let at = text.indexOf("\r\n") + 2; at < text.length;) {
    const end = text.indexOf("\r\n", at);
    const colon = text.indexOf(":", at);
    const line = at;
    at = end + 2;
    const name = nameAt(text, line, colon);
    // Nobody needs most headers.
    if (name === undefined) continue;
    const value = text.slice(colon + 1, end).trim();
    switch (name) {
      case "content-length":
        if (contentLength !== undefined || !/^\d+$/.test(value)) return undefined;
        contentLength = Number(value);
        break;
      case "transfer-encoding":
        transferEncoding = joined(transferEncoding, value);
        break;
      case "connection":
        connection = joined(connection, value);
        break;
      case "keep-alive":
        keepAliveSeconds = timeoutIn(value);
        break;
      case "content-type":
        contentType = joined(contentType, value);
        break;
      case "content-encoding":
        contentEncoding = joined(contentEncoding, value);
        break;
      case "retry-after":
        retryAfter = joined(retryAfter, value);
        break;
    }
  }
  const isHttp10 = text.charCodeAt(7) === 0x30;
  const chunked = transferEncoding !== undefined;
  if (chunked && (isHttp10 || contentLength !== undefined || transferEncoding?.toLowerCase() !== "chunked")) {
    return undefined;
  }
  if (status === 429) retryAfter ??= limitResetIn(text);
  return {
    status,
    contentLength,
    chunked,
    keepAlive: keepsAlive(connection, isHttp10),
    keepAliveSeconds,
    contentType,
    contentEncoding,
    retryAfter,
    // Nobody asks what day it is unless there is something to wait for.
    date: retryAfter === undefined ? undefined : dateLine.exec(text)?.[1]?.trim(),
  };
}

/**
 * Status line and headers: no folded lines, nothing between a name and its colon, and no control characters but tabs.
 * Some servers leave out the reason together with the space before it.
 */
const wholeHead =
  /^HTTP\/1\.[01] \d{3}(?: [\t\x20-\x7e\x80-\xff]*)?\r\n(?:[\w!#$%&'*+.^`|~-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*$/;

const names = [
  "connection",
  "keep-alive",
  "retry-after",
  "content-type",
  "content-length",
  "content-encoding",
  "transfer-encoding",
] as const;

/** The name that stands there, however it is spelled, if anybody here needs it. */
function nameAt(text: string, start: number, end: number): (typeof names)[number] | undefined {
  for (const name of names) {
    if (name.length === end - start && isSpelledAt(text, start, name)) return name;
  }
  return undefined;
}

function digitsIn(text: string, start: number, end: number): number {
  let number = 0;
  for (let at = start; at < end; at++) number = number * 10 + text.charCodeAt(at) - 0x30;
  return number;
}

/** A header that comes twice is a list. */
const joined = (earlier: string | undefined, value: string): string =>
  earlier === undefined ? value : `${earlier}, ${value}`;

/** Its spaces are trimmed by whoever takes it: a pattern for them would look at a long run of spaces again from each. */
const dateLine = /^date:(.*)\r$/im;
/** X says in Unix seconds when a limit eases, and never Retry-After. */
const limitResetLine = /^x-rate-limit-reset:[ \t]?(\d{10})\r$/im;

function limitResetIn(text: string): string | undefined {
  const told = limitResetLine.exec(text)?.[1];
  return told === undefined ? undefined : new Date(Number(told) * 1000).toUTCString();
}

function timeoutIn(value: string): number | undefined {
  const told = /(?:^|[,\s])timeout=(\d+)/i.exec(value)?.[1];
  return told === undefined ? undefined : Number(told);
}
