import { isSpelledAt } from "../../platform/header-name.ts";
import type { Fault, HttpHeaders } from "../../platform/http-request.ts";
import { keepsAlive } from "../../platform/keep-alive.ts";

/** What a request says before its body. */
export interface RequestHead {
  readonly method: string;
  /** Its path and query, in one spelling. */
  readonly target: string;
  readonly headers: ArrivedHeaders;
  readonly fault: Fault | undefined;
  /** Zero where there is no body. */
  readonly contentLength: number;
  readonly chunked: boolean;
  readonly isHttp10: boolean;
  /** Whether the connection may serve again. */
  readonly keepAlive: boolean;
  /** It sends its body only once it is told to. */
  readonly awaitsContinue: boolean;
}

/**
 * Reads a head, from its first byte up to and including its last header's line end, one byte in each character. It is
 * read strictly, and undefined when it is not exactly HTTP/1 or frames its body in a way that two readers could understand
 * differently: what one of them takes for a body would be the next request to the other.
 */
export function readRequestHead(text: string): RequestHead | undefined {
  if (!wholeHead.test(text)) return undefined;
  const lineEnd = text.indexOf("\r\n");
  const methodEnd = text.indexOf(" ");
  const headers = new ArrivedHeaders(text, lineEnd + 2);
  const isHttp10 = text.charCodeAt(lineEnd - 1) === 0x30;
  const length = headers.get("content-length");
  const coding = headers.get("transfer-encoding");
  if (coding !== null && (isHttp10 || length !== null || coding.toLowerCase() !== "chunked"))
    return undefined;
  const host = headers.get("host");
  if (host === null && !isHttp10) return undefined;
  const target = plainTarget(text.slice(methodEnd + 1, lineEnd - 9));
  if (target === undefined) return undefined;
  const fault = faultIn(host, length);
  return {
    method: text.slice(0, methodEnd),
    target,
    headers,
    fault,
    contentLength: fault === undefined ? Number(length ?? 0) : 0,
    chunked: coding !== null,
    isHttp10,
    keepAlive: keepsAlive(headers.get("connection"), isHttp10),
    awaitsContinue: !isHttp10 && headers.get("expect")?.toLowerCase() === "100-continue",
  };
}

/**
 * Headers, left where they stand in the head. Nobody asks for most of them, so only where each begins and ends is noted. Ask
 * for names in small letters.
 */
export class ArrivedHeaders implements HttpHeaders {
  readonly #text: string;
  /** Three places for each header: where its name begins, its colon, and its line's end. */
  readonly #lines: number[] = [];

  constructor(text: string, start: number) {
    this.#text = text;
    for (let at = start; at < text.length;) {
      const end = text.indexOf("\r\n", at);
      this.#lines.push(at, text.indexOf(":", at), end);
      at = end + 2;
    }
  }

  /** One that comes again under its name counts once. */
  areMoreThan(count: number): boolean {
    return this.#lines.length > 3 * count && this.#names().size > count;
  }

  get(name: string): string | null {
    const lines = this.#lines;
    let value: string | null = null;
    for (let at = 0; at < lines.length; at += 3) {
      const start = lines[at] ?? 0;
      const colon = lines[at + 1] ?? 0;
      if (colon - start !== name.length || !isSpelledAt(this.#text, start, name)) continue;
      const more = valueIn(this.#text, colon + 1, lines[at + 2] ?? 0);
      value = value === null ? more : `${value}${name === "cookie" ? "; " : ", "}${more}`;
    }
    return value;
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }

  toHeaders(): Headers {
    const headers = new Headers();
    for (const name of this.#names()) headers.set(name, this.get(name) ?? "");
    return headers;
  }

  #names(): Set<string> {
    const names = new Set<string>();
    for (let at = 0; at < this.#lines.length; at += 3)
      names.add(this.#text.slice(this.#lines[at], this.#lines[at + 1]).toLowerCase());
    return names;
  }
}

/** Request line and headers: no folded lines, nothing between a name and its colon, no control characters but tabs. */
const wholeHead =
  /^[\w!#$%&'*+.^`|~-]+ [\x21-\x7e\x80-\xff]+ HTTP\/1\.[01]\r\n(?:[\w!#$%&'*+.^`|~-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*$/;

/** Without the blanks around it, of which HTTP knows two. */
function valueIn(text: string, start: number, end: number): string {
  let [from, to] = [start, end];
  while (from < to && isBlank(text.charCodeAt(from))) from++;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;

function faultIn(host: string | null, length: string | null): Fault | undefined {
  if (host !== null && host !== lastHost) {
    if (host.includes(",")) return invalid("Host: given more than once");
    if (!address.test(host) || !URL.canParse(`http://${host}`)) return invalid("Host: expected an address");
    lastHost = host;
  }
  if (length === null || /^\d{1,15}$/.test(length)) return undefined;
  return invalid(`Content-Length: ${length.includes(",") ? "given more than once" : "expected a number"}`);
}

const invalid = (message: string): Fault => ({ code: "invalid_parameters", message });

/** The head of a request that has none, so that it can be refused like any other. */
export const faultyHead = (fault: Fault): RequestHead => ({
  method: "GET",
  target: "/",
  headers: new ArrivedHeaders("", 0),
  fault,
  contentLength: 0,
  chunked: false,
  isHttp10: false,
  keepAlive: false,
  awaitsContinue: false,
});

/** Nearly all name the same one, and to look at a name costs more than to compare it. */
let lastHost: string | undefined;

/** A name or an address, with or without a port. */
const address = /^(?:\[[\da-f:.]+\]|[\w.~%-]+)(?::\d{1,5})?$/i;

/**
 * Nearly all are a path and a query in plain letters. Whatever could be spelled in another way, as `/a/../b` can, is brought
 * into the web's one spelling, so that no path is a way around the look at another. Whose address stands before it, as
 * proxies are told, does not matter: it came here.
 */
function plainTarget(target: string): string | undefined {
  if (plain.test(target) && !dotted.test(target)) return target;
  const path = target.replace(authority, "");
  const text = Buffer.from(path, "latin1").toString();
  const url = URL.parse(`http://here${text.startsWith("/") ? "" : "/"}${text}`);
  return url ? url.pathname + url.search : undefined;
}

const plain = /^\/[\w~:@!$&'()*+,;=%?/.-]*$/;
const dotted = /\/\.|%2e/i;
const authority = /^https?:\/\/[^/?#]*/i;
