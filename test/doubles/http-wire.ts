// HTTP/1.1 as bytes, for both ends of the tests. Written here rather than borrowed from node:http
// because a library would tidy up exactly what the tests want to see (duplicates, order, framing).

export type HeaderPair = readonly [name: string, value: string];

export interface WireRequest {
  readonly method: string;
  /** The request target as it stood in the request line: path and query, never normalised. */
  readonly target: string;
  readonly version: string;
  readonly headers: readonly HeaderPair[];
  /** The body without its chunked framing. */
  readonly body: Uint8Array;
  /** Every byte of the message, framing included. */
  readonly raw: Uint8Array;
}

export interface WireResponse {
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly HeaderPair[];
  readonly body: string;
  readonly bodyBytes: Uint8Array;
  /** False when the connection ended, or the wait was over, before the announced end of the body. */
  readonly complete: boolean;
}

export type Taken<T> =
  /** `needsBytes`, where the message announces it, spares the reader from trying again sooner. */
  | { readonly state: "partial"; readonly needsBytes?: number }
  | { readonly state: "broken"; readonly why: string }
  | { readonly state: "whole"; readonly value: T; readonly usedBytes: number };

/** Takes the first request off a buffer, as strictly as a vendor's edge would. */
export function takeRequest(buffer: Buffer): Taken<WireRequest> {
  const headEnd = buffer.indexOf("\r\n\r\n");
  if (headEnd < 0) {
    return buffer.length > headBytesMax ? broken("head too large") : { state: "partial" };
  }
  const [requestLine = "", ...headerLines] = buffer.toString("latin1", 0, headEnd).split("\r\n");
  const line = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S+) (HTTP\/1\.[01])$/.exec(requestLine);
  if (!line) return broken(`request line ${JSON.stringify(requestLine)}`);
  const [, method = "", target = "", version = ""] = line;

  const headers: HeaderPair[] = [];
  for (const headerLine of headerLines) {
    const pair = parseHeaderLine(headerLine);
    if (!pair) return broken(`header line ${JSON.stringify(headerLine)}`);
    headers.push(pair);
  }
  if (version === "HTTP/1.1" && headerValues(headers, "host").length !== 1) {
    return broken("not exactly one Host");
  }

  const body = takeRequestBody({ buffer, from: headEnd + 4, headers });
  if (body.state !== "whole") return body;
  return {
    state: "whole",
    usedBytes: body.usedBytes,
    value: {
      method,
      target,
      version,
      headers,
      body: body.value,
      raw: new Uint8Array(buffer.subarray(0, body.usedBytes)),
    },
  };
}

export interface ResponseContext {
  /** The peer closed in good order, which completes a body without framing. */
  readonly ended: boolean;
  /** No more bytes will be looked at: take what is there, even if incomplete. */
  readonly last: boolean;
  /** The answer is to HEAD. */
  readonly bodyless: boolean;
}

/** Takes the first answer off a buffer. */
export function takeResponse(
  buffer: Buffer,
  { ended, last, bodyless }: ResponseContext,
): Taken<WireResponse> {
  const headEnd = buffer.indexOf("\r\n\r\n");
  if (headEnd < 0) return { state: "partial" };
  const [statusLine = "", ...headerLines] = buffer.toString("latin1", 0, headEnd).split("\r\n");
  const line = /^HTTP\/1\.[01] (\d{3}) ?(.*)$/.exec(statusLine);
  if (!line) return broken(`status line ${JSON.stringify(statusLine)}`);
  const status = Number(line[1]);

  const headers: HeaderPair[] = [];
  for (const headerLine of headerLines) {
    const pair = parseHeaderLine(headerLine);
    if (!pair) return broken(`header line ${JSON.stringify(headerLine)}`);
    headers.push(pair);
  }

  const noBody = bodyless || status < 200 || status === 204 || status === 304;
  const framed = noBody
    ? { bytes: buffer.subarray(0, 0), end: headEnd + 4, complete: true }
    : takeResponseBody({ buffer, from: headEnd + 4, headers, ended });
  if (typeof framed === "string") return broken(framed);
  if (!framed.complete && !last) return { state: "partial" };
  return {
    state: "whole",
    usedBytes: framed.end,
    value: {
      status,
      reason: line[2] ?? "",
      headers,
      body: framed.bytes.toString("utf8"),
      bodyBytes: new Uint8Array(framed.bytes),
      complete: framed.complete,
    },
  };
}

/** Every value of a header, in order; names compare without case. */
export const headerValues = (headers: readonly HeaderPair[], name: string): readonly string[] =>
  headers.filter(([key]) => key.toLowerCase() === name.toLowerCase()).map(([, value]) => value);

export const toBytes = (content: string | Uint8Array): Uint8Array =>
  typeof content === "string" ? new TextEncoder().encode(content) : content;

export function encodeChunk(content: string | Uint8Array): Uint8Array {
  const bytes = toBytes(content);
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, crlf]);
}

export const lastChunk: Uint8Array = Buffer.from("0\r\n\r\n");

const crlf = Buffer.from("\r\n");
// Above any head a gateway should send; without it a peer that never ends its head is kept for ever.
const headBytesMax = 1024 * 1024;

const broken = (why: string): { readonly state: "broken"; readonly why: string } => ({
  state: "broken",
  why,
});

function parseHeaderLine(line: string): HeaderPair | undefined {
  // A CR, LF or NUL left after splitting on CRLF is a smuggling attempt; a leading blank is obs-fold.
  const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*?)[ \t]*$/.exec(line);
  return match ? [match[1] ?? "", match[2] ?? ""] : undefined;
}

const takeRequestBody = ({
  buffer,
  from,
  headers,
}: {
  readonly buffer: Buffer;
  readonly from: number;
  readonly headers: readonly HeaderPair[];
}): Taken<Uint8Array> => {
  const lengths = headerValues(headers, "content-length");
  const codings = headerValues(headers, "transfer-encoding");
  if (lengths.length > 1) return broken("several Content-Lengths");
  if (lengths.length > 0 && codings.length > 0) {
    return broken("Content-Length and Transfer-Encoding");
  }
  if (codings.length > 0) {
    if (codings.length > 1 || codings[0]?.toLowerCase() !== "chunked") {
      return broken(`Transfer-Encoding ${codings.join(", ")}`);
    }
    const chunked = decodeChunked(buffer, from);
    if (chunked === "broken") return broken("chunked framing");
    if (!chunked.complete) return { state: "partial" };
    return { state: "whole", value: new Uint8Array(chunked.bytes), usedBytes: chunked.end };
  }
  const [length = "0"] = lengths;
  if (!/^\d{1,15}$/.test(length)) return broken(`Content-Length ${length}`);
  const end = from + Number(length);
  if (buffer.length < end) return { state: "partial", needsBytes: end };
  return { state: "whole", value: new Uint8Array(buffer.subarray(from, end)), usedBytes: end };
};

interface Framed {
  readonly bytes: Buffer;
  readonly end: number;
  readonly complete: boolean;
}

const takeResponseBody = ({
  buffer,
  from,
  headers,
  ended,
}: {
  readonly buffer: Buffer;
  readonly from: number;
  readonly headers: readonly HeaderPair[];
  readonly ended: boolean;
}): Framed | string => {
  if (headerValues(headers, "transfer-encoding").some((value) => /\bchunked$/i.test(value))) {
    const chunked = decodeChunked(buffer, from);
    return chunked === "broken" ? "chunked framing" : chunked;
  }
  const lengths = headerValues(headers, "content-length");
  if (lengths.length > 1) return "several Content-Lengths";
  const [length] = lengths;
  if (length === undefined) {
    // Without framing the body runs to the end of the connection.
    return { bytes: buffer.subarray(from), end: buffer.length, complete: ended };
  }
  if (!/^\d{1,15}$/.test(length)) return `Content-Length ${length}`;
  const end = from + Number(length);
  const complete = buffer.length >= end;
  return { bytes: buffer.subarray(from, end), end: Math.min(end, buffer.length), complete };
};

function decodeChunked(buffer: Buffer, from: number): Framed | "broken" {
  const parts: Buffer[] = [];
  const soFar = (): Framed => ({
    bytes: Buffer.concat(parts),
    end: buffer.length,
    complete: false,
  });
  let at = from;
  for (;;) {
    const lineEnd = buffer.indexOf("\r\n", at);
    if (lineEnd < 0) return soFar();
    const sizeLine = buffer.toString("latin1", at, lineEnd);
    const size = /^([0-9a-fA-F]{1,12})(?:[ \t]*;[^\r\n]*)?$/.exec(sizeLine)?.[1];
    if (size === undefined) return "broken";
    at = lineEnd + 2;

    const length = Number.parseInt(size, 16);
    if (length === 0) return endOfTrailers({ buffer, from: at, bytes: Buffer.concat(parts) });
    parts.push(buffer.subarray(at, at + length));
    if (buffer.length < at + length + 2) return soFar();
    if (buffer.toString("latin1", at + length, at + length + 2) !== "\r\n") return "broken";
    at += length + 2;
  }
}

const endOfTrailers = ({
  buffer,
  from,
  bytes,
}: {
  readonly buffer: Buffer;
  readonly from: number;
  readonly bytes: Buffer;
}): Framed => {
  let at = from;
  for (;;) {
    const lineEnd = buffer.indexOf("\r\n", at);
    if (lineEnd < 0) return { bytes, end: buffer.length, complete: false };
    if (lineEnd === at) return { bytes, end: at + 2, complete: true };
    at = lineEnd + 2;
  }
};
