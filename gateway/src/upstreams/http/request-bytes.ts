import type { Target } from "./origin.ts";

export interface HttpRequest {
  readonly url: string;
  readonly method: "GET" | "POST";
  /** Whoever sends the same headers again and again does well to keep the object, by which their text is remembered. */
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
  { method, headers, requestId, body }: HttpRequest,
  { origin, path }: Target,
): string | Uint8Array | undefined {
  const written = writtenHeaders(headers);
  if (!written || !sayablePath.test(path)) return undefined;
  const { lines, isAscii } = written;
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${origin.host}\r\n${lines}`;
  if (requestId !== undefined) {
    if (!plainValue.test(requestId)) return undefined;
    head += `x-request-id: ${requestId}\r\n`;
  }
  if (origin.authorization !== undefined && headers["authorization"] === undefined) {
    head += `authorization: ${origin.authorization}\r\n`;
  }
  if (body !== undefined) head += `content-length: ${Buffer.byteLength(body)}\r\n`;
  else if (method === "POST") head += "content-length: 0\r\n";
  // A text is written as UTF-8, in which only ASCII is what it was.
  if (typeof body !== "object" && isAscii) return `${head}\r\n${body ?? ""}`;
  const rest = typeof body === "object" ? body : Buffer.from(body ?? "");
  return Buffer.concat([Buffer.from(`${head}\r\n`, "latin1"), rest]);
}

interface WrittenHeaders {
  readonly lines: string;
  readonly isAscii: boolean;
}

const remembered = new WeakMap<HttpRequest["headers"], WrittenHeaders>();

/** Undefined when one of them cannot be said. */
function writtenHeaders(headers: HttpRequest["headers"]): WrittenHeaders | undefined {
  const known = remembered.get(headers);
  if (known) return known;
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
  const written = { lines, isAscii };
  remembered.set(headers, written);
  return written;
}

const sayablePath = /^\/[\x21-\x7e]*$/;
const headerName = /^[\w!#$%&'*+.^`|~-]+$/;
const plainValue = /^[\x20-\x7e]*$/;
/** Whatever would end a header or is no byte. */
const unsayable = /[^\t\x20-\x7e\x80-\xff]/;
