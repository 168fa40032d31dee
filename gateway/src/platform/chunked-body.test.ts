import { expect, test } from "bun:test";
import { ChunkedBody } from "./chunked-body.ts";

/** Everything that came of these pieces, and what the process keeps in memory for it. */
function take(pieces: Iterable<string>) {
  const body = new ChunkedBody();
  const kept = new Set<ArrayBufferLike>();
  let data = "";
  for (const piece of pieces) {
    // As sockets do it: every read has a buffer of its own.
    const part = body.take(Buffer.from(new TextEncoder().encode(piece).buffer));
    if (part.length > 0) kept.add(part.buffer);
    data += part.toString("latin1");
    if (body.isMalformed || body.hasEnded) break;
  }
  const keptBytes = [...kept].reduce((sum, { byteLength }) => sum + byteLength, 0);
  return { data, keptBytes, isMalformed: body.isMalformed, hasEnded: body.hasEnded };
}

function* repeated(piece: string, times: number, ending = ""): Generator<string> {
  for (let count = 0; count < times; count++) yield piece;
  if (ending !== "") yield ending;
}

const end = "0\r\n\r\n";
const sized = (data: string, extension = ""): string =>
  `${data.length.toString(16)}${extension}\r\n${data}\r\n`;

test("the data of a body keeps nothing of what stood between its chunks in memory", () => {
  // Each piece is as sockets read them, with 2 KiB of data in 12 KiB, after data that allows for all of it.
  const plain = sized("a".repeat(1024 * 1024));
  const padded = sized("b".repeat(512), `;${"e".repeat(2_500)}`).repeat(4);
  const { keptBytes, data, hasEnded } = take([plain, ...repeated(padded, 80, end)]);
  expect(hasEnded).toBe(true);
  expect(data.length).toBe(1024 * 1024 + 80 * 4 * 512);
  expect(keptBytes).toBeLessThan(data.length * 1.2);
});

test("a body whose chunks are mostly padding is malformed soon, however it is spread", () => {
  const paddings = [
    sized("a".repeat(512), `;${"e".repeat(15_800)}`),
    sized("a", `;${"e".repeat(100)}`),
    sized("a", " ".repeat(60)),
    `${"0".repeat(100)}1\r\na\r\n`,
  ];
  for (const padding of paddings) {
    const { isMalformed, data } = take(repeated(padding, 10_000, end));
    expect(isMalformed).toBe(true);
    expect(data.length).toBeLessThan(1_024);
  }
});

test("small chunks, and extensions shorter than their chunks, may go on as long as they like", () => {
  const bodies = [
    sized("a"),
    sized("event: x\n\n", ";x=1"),
    sized("a".repeat(100), `;signature=${"f".repeat(64)}`),
  ];
  for (const piece of bodies) {
    expect(take(repeated(piece, 10_000, end))).toMatchObject({ isMalformed: false, hasEnded: true });
    expect(take(Array.from(piece.repeat(1_000) + end)).hasEnded).toBe(true);
  }
});
