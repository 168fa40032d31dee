import type { Target } from "./origin.ts";

export interface HttpRequest {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
  readonly firstByteTimeoutMs: number;
}

/** A request as it goes over the wire, in one piece; undefined when a header or the path cannot be said in HTTP. */
export function writeRequest(
  { method, headers, body }: HttpRequest,
  { origin, path }: Target,
): string | Uint8Array | undefined {
  if (!path.startsWith("/") || !isWithin(path, 0x21, 0x7e)) return undefined;
  let isAscii = true;
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${origin.host}\r\n`;
  for (const name in headers) {
    const value = headers[name] ?? "";
    if (!isWithin(value, 0x20, 0x7e)) {
      if (unsayable.test(value)) return undefined;
      isAscii = false;
    }
    if (!isHeaderName(name)) return undefined;
    head += `${name}: ${value}\r\n`;
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

/** Six headers are looked at for every call; for texts so short, a pattern costs more to begin than they take to read. */
function isWithin(text: string, least: number, most: number): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < least || code > most) return false;
  }
  return true;
}

/** The names are few, and were all looked at before. */
function isHeaderName(name: string): boolean {
  if (knownNames.has(name)) return true;
  if (!headerName.test(name)) return false;
  if (knownNames.size < knownNamesMax) knownNames.add(name);
  return true;
}

const headerName = /^[\w!#$%&'*+.^`|~-]+$/;
const knownNames = new Set<string>();
const knownNamesMax = 100;
/** Whatever would end a header or is no byte. */
const unsayable = /[^\t\x20-\x7e\x80-\xff]/;
