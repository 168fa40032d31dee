import { describe, expect, test } from "bun:test";
import { until } from "../../../../test/support/until.ts";
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

describe("of events that came as one body", () => {
  const pieceBytes = 64 * 1024;
  const body = Buffer.alloc(3 * pieceBytes, "data: a\n\n");

  /** A reader that asks for a pause at every piece. */
  function readBehind(stream: WholeStream) {
    const pieces: Uint8Array[] = [];
    const endings: string[] = [];
    stream.start({
      onPiece: (piece) => {
        pieces.push(piece);
        stream.pause();
      },
      onEnd: (ending) => endings.push(ending),
    });
    return { pieces, endings };
  }
  const othersWereServed = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  };

  test("a reader who is behind gets no more, and no end, until it has caught up", async () => {
    const stream = new WholeStream(200, body);
    const { pieces, endings } = readBehind(stream);
    for (const count of [1, 2, 3]) {
      await othersWereServed();
      expect([pieces.length, endings]).toEqual([count, []]);
      stream.resume();
    }
    await othersWereServed();
    expect(endings).toEqual(["whole"]);
    expect(Buffer.concat(pieces).equals(body)).toBe(true);
  });

  test("the rest is handed over at once to a reader who was waited for long enough", async () => {
    const { pieces, endings } = readBehind(new WholeStream(200, body, 5));
    await until(() => endings.length > 0);
    expect(endings).toEqual(["whole"]);
    expect(Buffer.concat(pieces).equals(body)).toBe(true);
  });

  test("the rest is read to its end when its reader leaves", async () => {
    const stream = new WholeStream(200, body);
    const { pieces, endings } = readBehind(stream);
    stream.leave();
    await othersWereServed();
    expect([pieces.length, endings]).toEqual([3, ["whole"]]);
  });

  test("each is handed over once, also to a reader who asks for a pause and goes on at once", async () => {
    const stream = new WholeStream(200, body);
    const pieces: Uint8Array[] = [];
    const endings: string[] = [];
    stream.pause();
    stream.start({
      onPiece: (piece) => {
        pieces.push(piece);
        stream.pause();
        stream.resume();
      },
      onEnd: (ending) => endings.push(ending),
    });
    expect(pieces).toEqual([]);
    stream.resume();
    await othersWereServed();
    expect(endings).toEqual(["whole"]);
    expect(Buffer.concat(pieces).equals(body)).toBe(true);
  });
});
