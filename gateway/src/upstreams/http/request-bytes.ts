import type { Target } from "./origin.ts";

export interface OutgoingRequest {
  readonly url: string;
  /** What every address of the other side ends in, beside what this one asks for itself. */
  readonly query?: string | undefined;
  readonly method: "GET" | "POST";
  /** Send the same object again for the same headers: their text is remembered by it. */
  readonly headers: Readonly<Record<string, string>>;
  /** The name of this request, where the other side is to know it. */
  readonly requestId?: string;
  readonly body: string | Uint8Array | undefined;
  readonly firstByteTimeoutMs: number;
  /** How long the other side may be silent once its answer has begun; the client's usual time when not given. */
  readonly silenceTimeoutMs?: number | undefined;
}

/** A request as it goes over the wire, in one piece; undefined when a header or the path cannot be said in HTTP. */
export function writeRequest(
  { method, query, headers, requestId, body }: OutgoingRequest,
  target: Target,
): string | Uint8Array | undefined {
  const opening = openingOf(method, target, query, headers);
  if (!opening || (requestId !== undefined && !plainValue.test(requestId))) return undefined;
  const named = requestId === undefined ? "" : `x-request-id: ${requestId}\r\n`;
  const length = body === undefined ? (method === "POST" ? 0 : undefined) : Buffer.byteLength(body);
  const framed = length === undefined ? "\r\n" : `content-length: ${length}\r\n\r\n`;
  const head = opening.lines + named + framed;
  // A text is written as UTF-8, in which only ASCII is what it was.
  if (typeof body !== "object" && opening.isAscii) return body === undefined ? head : head + body;
  return joined(head, typeof body === "object" ? body : Buffer.from(body ?? ""));
}

function joined(head: string, body: Uint8Array): Uint8Array {
  const bytes = Buffer.allocUnsafe(head.length + body.length);
  bytes.write(head, "latin1");
  bytes.set(body, head.length);
  return bytes;
}

/** What a request begins with, as far as it says what the last one with the same headers said. */
interface Opening {
  readonly method: OutgoingRequest["method"];
  readonly target: Target;
  readonly query: string | undefined;
  readonly lines: string;
  readonly isAscii: boolean;
}

const remembered = new WeakMap<OutgoingRequest["headers"], Opening>();

/** Undefined when something of it cannot be said. */
function openingOf(
  method: OutgoingRequest["method"],
  target: Target,
  query: string | undefined,
  headers: OutgoingRequest["headers"],
): Opening | undefined {
  const known = remembered.get(headers);
  if (known && known.target === target && known.method === method && known.query === query) return known;
  const { origin } = target;
  const path = withQuery(target.path, query);
  const written = writeHeaders(headers);
  if (!written || !sayablePath.test(path)) return undefined;
  const { isAscii } = written;
  let lines = `${method} ${path} HTTP/1.1\r\nhost: ${origin.host}\r\n${written.lines}`;
  if (origin.authorization !== undefined && headers["authorization"] === undefined) {
    lines += `authorization: ${origin.authorization}\r\n`;
  }
  const opening = { method, target, query, lines, isAscii };
  remembered.set(headers, opening);
  return opening;
}

const withQuery = (path: string, query: string | undefined): string =>
  query === undefined ? path : `${path}${path.includes("?") ? "&" : "?"}${query}`;

function writeHeaders(headers: OutgoingRequest["headers"]): Pick<Opening, "lines" | "isAscii"> | undefined {
  let lines = "";
  let isAscii = true;
  for (const name in headers) {
    const value = headers[name] ?? "";
    if (!plainValue.test(value)) {
      if (unsayable.test(value)) return undefined;
      isAscii = false;
    }
    if (!headerName.test(name)) return undefined;
    lines += `${name}: ${value}\r\n`;
  }
  return { lines, isAscii };
}

const sayablePath = /^\/[\x21-\x7e]*$/;
const headerName = /^[\w!#$%&'*+.^`|~-]+$/;
const plainValue = /^[\x20-\x7e]*$/;
/** Whatever would end a header or is no byte. */
const unsayable = /[^\t\x20-\x7e\x80-\xff]/;
