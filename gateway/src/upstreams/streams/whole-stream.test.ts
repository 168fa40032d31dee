import { expect, test } from "bun:test";
import { WholeStream } from "./whole-stream.ts";

test("events that came as one body are handed over in pieces, between which others are served", async () => {
  const body = Buffer.from("data: a\n\n".repeat(100_000));
  const ended = Promise.withResolvers<string>();
  const pieces: Uint8Array[] = [];
  let servedAfter = 0;
  setImmediate(() => (servedAfter = pieces.length));
  new WholeStream(200, body).start({
    onPiece: (piece) => pieces.push(piece),
    onEnd: (ending) => ended.resolve(ending),
  });
  expect(await ended.promise).toBe("whole");
  expect(servedAfter).toBe(1);
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThanOrEqual(64 * 1024);
  expect(Buffer.concat(pieces).equals(body)).toBe(true);
});

test("a reader that fails gets no more, and is told that the stream broke", async () => {
  const ended = Promise.withResolvers<string>();
  let pieces = 0;
  new WholeStream(200, Buffer.alloc(1024 * 1024)).start({
    onPiece: () => {
      pieces++;
      if (pieces === 2) throw new Error("unreadable");
    },
    onEnd: (ending) => ended.resolve(ending),
  });
  expect(await ended.promise).toBe("broken");
  expect(pieces).toBe(2);
});
