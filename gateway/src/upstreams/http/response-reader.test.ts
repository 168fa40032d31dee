import { expect, test } from "bun:test";
import fc from "fast-check";
import { expectInProportion } from "../../platform/test-in-proportion.ts";
import { ResponseReader } from "./response-reader.ts";

/** What comes of an answer that arrives in these pieces, after which the other side ends the connection. */
function read(pieces: readonly Uint8Array[]) {
  const reader = new ResponseReader();
  const body: Uint8Array[] = [];
  for (const piece of pieces) body.push(new Uint8Array(reader.push(Buffer.from(piece))));
  const { state, head, hasExcess } = reader;
  reader.end();
  // What was malformed is thrown away with all that came before.
  if (state === "malformed") return { state };
  return { state, head, hasExcess, atEnd: reader.state, body: Buffer.concat(body).toString("latin1") };
}

const bytesOf = (text: string): Buffer => Buffer.from(text, "latin1");
const readText = (text: string) => read([bytesOf(text)]);

const line = "HTTP/1.1 200 OK\r\n";
const chunked = `${line}Transfer-Encoding: chunked\r\n\r\n`;

test.each([
  ["a length", `${line}Content-Length: 5\r\n\r\nhello`],
  ["a length and nothing else", `HTTP/1.1 200\r\ncontent-length:5\r\n\r\nhello`],
  ["chunks", `${chunked}2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n`],
  [
    "chunks with extensions and trailers",
    `${chunked}2;a=b\r\nhe\r\n03 ;c="d"\r\nllo\r\n0\r\nX: y\r\nZ: \r\n\r\n`,
  ],
  [
    "interim answers first",
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n${chunked}5\r\nhello\r\n0\r\n\r\n`,
  ],
])("an answer framed by %s is read whole", (_what, text) => {
  expect(readText(text)).toMatchObject({ state: "whole", body: "hello", hasExcess: false });
  expect(readText(`${text}H`)).toMatchObject({ state: "whole", body: "hello", hasExcess: true });
  expect(readText(text.slice(0, -1))).toMatchObject({ state: "body", atEnd: "body" });
});

test("an answer framed by nothing ends with the connection", () => {
  expect(readText(`${line}\r\nhello`)).toMatchObject({ state: "body", atEnd: "whole", body: "hello" });
  expect(readText(`${line}X: y\r\n`)).toMatchObject({ state: "head", atEnd: "head" });
});

test.each([204, 304])("a %d has no body, whatever it says about one", (status) => {
  const text = `HTTP/1.1 ${status} X\r\nContent-Length: 5\r\n\r\n`;
  expect(readText(text)).toMatchObject({ state: "whole", body: "", hasExcess: false });
  expect(readText(`${text}hello`)).toMatchObject({ state: "whole", body: "", hasExcess: true });
});

test.each([
  ["no HTTP", "SSH-2.0-x\r\n\r\n"],
  ["no HTTP, said in part", "SSH"],
  ["another version", "HTTP/2.0 200 OK\r\n\r\n"],
  ["an empty line first", `\r\n${line}\r\n`],
  ["a status of two digits", "HTTP/1.1 20 OK\r\n\r\n"],
  ["a status of four digits", "HTTP/1.1 2000 OK\r\n\r\n"],
  ["a status below 100", "HTTP/1.1 099 OK\r\n\r\n"],
  ["a status above 599", "HTTP/1.1 600 OK\r\n\r\n"],
  ["another protocol", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n"],
  ["a bare LF", "HTTP/1.1 200 OK\nX: y\r\n\r\n"],
  ["a bare LF, without an end", "HTTP/1.1 200 OK\n"],
  ["a bare CR", `${line}X: y\rZ: z\r\n\r\n`],
  ["a NUL", `${line}X: y\0\r\n\r\n`],
  ["a control character", `${line}X: y\x01\r\n\r\n`],
  ["a folded line", `${line}X: y\r\n z\r\n\r\n`],
  ["a space before the colon", `${line}X : y\r\n\r\n`],
  ["a name of nothing", `${line}: y\r\n\r\n`],
  ["a name that is none", `${line}X(y): z\r\n\r\n`],
  ["no colon", `${line}X\r\n\r\n`],
  ["two lengths", `${line}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`],
  ["the same length twice", `${line}Content-Length: 5\r\ncontent-length: 5\r\n\r\nhello`],
  ["a list of lengths", `${line}Content-Length: 5, 5\r\n\r\nhello`],
  ["a negative length", `${line}Content-Length: -5\r\n\r\nhello`],
  ["a length with a sign", `${line}Content-Length: +5\r\n\r\nhello`],
  ["an empty length", `${line}Content-Length:\r\n\r\nhello`],
  ["a length beside chunks", `${line}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ["an unknown coding", `${line}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  [
    "chunks within chunks",
    `${line}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  ["a disguised coding", `${line}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
  ["chunks in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
  ["a chunk without size", `${chunked}\r\nhello`],
  ["a chunk whose size is none", `${chunked}g\r\n`],
  ["a chunk with a sign", `${chunked}-5\r\nhello`],
  ["a chunk with a prefix", `${chunked}0x5\r\nhello`],
  ["a chunk larger than numbers", `${chunked}fffffffffffffffff\r\nhello`],
  ["a chunk longer than its size", `${chunked}4\r\nhello\r\n`],
  ["a size that ends in a bare LF", `${chunked}5\nhello\r\n`],
  ["a chunk that ends in a bare LF", `${chunked}5\r\nhello\n`],
  ["a bare LF in an extension", `${chunked}5;a\nb\r\nhello\r\n`],
  ["a bare LF in a trailer", `${chunked}0\r\nX: y\n\r\n`],
  ["an extension without end", `${chunked}5;${"a".repeat(20_000)}`],
  ["trailers without end", `${chunked}0\r\n${"X: y\r\n".repeat(4_000)}`],
  ["a head without end", `${line}X: ${"a".repeat(200_000)}`],
  ["a head too long", `${line}X: ${"a".repeat(200_000)}\r\n\r\n`],
])("an answer with %s is malformed", (_what, text) => {
  expect(readText(text)).toEqual({ state: "malformed" });
});

test.each([
  ["Connection: close", false],
  ["Connection: keep-alive, Close", false],
  ["Connection: keep-alive", true],
  ["X-Connection: close", true],
])("%s decides whether the connection serves again", (header, keepAlive) => {
  const { head } = readText(`${line}${header}\r\nContent-Length: 0\r\n\r\n`);
  expect(head?.keepAlive).toBe(keepAlive);
});

test("HTTP/1.0 keeps a connection only where it says so", () => {
  expect(readText("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n").head?.keepAlive).toBe(false);
  const kept =
    "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nKeep-Alive: timeout=7, max=5\r\nContent-Length: 0\r\n\r\n";
  expect(readText(kept).head).toMatchObject({ keepAlive: true, keepAliveSeconds: 7 });
});

test("a wait is told with the moment it counts from, and that moment with nothing else", () => {
  const dated = `${line}DATE:  Sun, 15 Nov 2026 08:00:00 GMT \r\nContent-Length: 0\r\n`;
  expect(readText(`${dated}\r\n`).head).toMatchObject({ retryAfter: undefined, date: undefined });
  const head = readText(`${dated}Retry-After: 7\r\n\r\n`).head;
  expect(head).toMatchObject({ retryAfter: "7", date: "Sun, 15 Nov 2026 08:00:00 GMT" });
});

/** Answers, whole and spoilt: pieces of HTTP in any order make more odd cases than anybody thinks of. */
const token = fc.constantFrom(
  line,
  "HTTP/1.0 200 OK\r\n",
  "HTTP/1.1 100 Continue\r\n\r\n",
  "Content-Length: 7\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Connection: close\r\n",
  "\r\n",
  "\r\n\r\n",
  "\n",
  "\r",
  "5\r\nhello\r\n",
  "0\r\n\r\n",
  "3;x=y\r\nabc\r\n",
  "X: y\r\n",
  "\0",
);
const anyAnswer = fc.oneof(
  fc.array(token, { maxLength: 12 }).map((tokens) => tokens.join("")),
  fc
    .tuple(
      fc.array(fc.string({ minLength: 1, maxLength: 40 }), { maxLength: 6 }),
      fc.string({ maxLength: 20 }),
    )
    .map(([chunks, behind]) => {
      const body = chunks
        .map((chunk) => `${Buffer.byteLength(chunk, "latin1").toString(16)}\r\n${chunk}\r\n`)
        .join("");
      return `HTTP/1.1 103 Early\r\nX: y\r\n\r\n${chunked}${body}0\r\n\r\n${behind}`;
    }),
  fc
    .tuple(fc.string({ maxLength: 60 }), fc.nat(70))
    .map(([body, length]) => `${line}Content-Length: ${length}\r\n\r\n${body}`),
);

test("any split of the bytes gives the same answer as one piece", () => {
  fc.assert(
    fc.property(anyAnswer, fc.array(fc.nat(400), { maxLength: 10 }), (text, cuts) => {
      const bytes = bytesOf(text);
      const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
      const pieces = [...places, bytes.length].map((end, at) => bytes.subarray(places[at - 1] ?? 0, end));
      expect(read(pieces)).toEqual(read([bytes]));
      expect(read([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(read([bytes]));
    }),
    { numRuns: 1_500 },
  );
});

test("chunks are given as one piece for each piece that came", () => {
  const reader = new ResponseReader();
  const events = reader.push(bytesOf(`${chunked}2\r\nhe\r\n2\r\nll\r\n1\r\no\r\n`));
  expect(events.toString()).toBe("hello");
});

test("a head of many lines that comes byte by byte takes time by its length", () => {
  expectInProportion((size) => {
    const bytes = [...bytesOf(line + "a:\r\n".repeat(size))].map((byte) => Buffer.from([byte]));
    return () => {
      const reader = new ResponseReader();
      for (const byte of bytes) reader.push(byte);
      expect(reader.state).toBe("head");
    };
  }, 2000);
});
