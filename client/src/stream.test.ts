import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readEvents, type StreamEnd, type StreamEvent } from "./stream.ts";

const closing = ': tollgate {"request_id":"req_1","cost_micros_usd":12}\n\n';

/** A body whose bytes come in these pieces; an error after them when one is given. */
function bodyOf(pieces: readonly Uint8Array[], cut?: Error): ReadableStream<Uint8Array> {
  const left = [...pieces];
  return new ReadableStream({
    pull: (controller) => {
      const next = left.shift();
      if (next) controller.enqueue(next);
      else if (cut) controller.error(cut);
      else controller.close();
    },
  });
}

async function readAll(body: ReadableStream<Uint8Array>): Promise<{ events: StreamEvent[]; end: StreamEnd }> {
  const events: StreamEvent[] = [];
  const reading = readEvents(body, 1_000);
  for (;;) {
    const next = await reading.next();
    if (next.done === true) return { events, end: next.value };
    events.push(next.value);
  }
}

const failureOf = (reading: Promise<unknown>): Promise<string> => reading.then(() => "none", String);

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const readText = (text: string) => readAll(bodyOf([bytesOf(text)]));

describe("a stream of events", () => {
  test("is told apart by empty lines, with names and data of several lines", async () => {
    const { events } = await readText("event: a\ndata: 1\ndata: 2\n\ndata:3\n\nevent: nothing\n\n");
    expect(events).toEqual([
      { event: "a", data: "1\n2" },
      { event: undefined, data: "3" },
    ]);
  });

  test("may end its lines with LF, CRLF or CR", async () => {
    for (const end of ["\n", "\r\n", "\r"]) {
      const { events } = await readText(`event: a${end}data: 1${end}${end}data: 2${end}${end}`);
      expect(events).toEqual([
        { event: "a", data: "1" },
        { event: undefined, data: "2" },
      ]);
    }
  });

  test("tells its cost in the closing comment, and other comments are nothing", async () => {
    const { events, end } = await readText(`: ping\n\ndata: a\n\n: ping\n\n${closing}`);
    expect(events).toEqual([{ event: undefined, data: "a" }]);
    expect(end).toEqual({ costMicrosUsd: 12 });
    for (const odd of [": tollgate {half\n\n", ': tollgate {"cost_micros_usd":"12"}\n\n', ": tollgate\n\n"]) {
      expect((await readText(odd)).end).toEqual({ costMicrosUsd: undefined });
    }
  });

  test("is read the same however its bytes are cut into pieces", async () => {
    const text = `event: grüße\r\ndata: 日本 🎈\r\n\r\ndata: b\r\n\r\n${closing.replaceAll("\n", "\r\n")}`;
    const bytes = bytesOf(text);
    const expected = await readText(text);
    expect(expected.events).toEqual([
      { event: "grüße", data: "日本 🎈" },
      { event: undefined, data: "b" },
    ]);
    const cuts = fc.uniqueArray(fc.nat(bytes.length), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(cuts, async (places) => {
        const edges = [0, ...places.toSorted((a, b) => a - b), bytes.length];
        const pieces = edges.slice(1).map((edge, at) => bytes.slice(edges[at], edge));
        expect(await readAll(bodyOf(pieces))).toEqual(expected);
      }),
    );
  });

  test("that ends in the middle of an event does not pass the half of it on", async () => {
    expect((await readText("data: a\n\ndata: hal")).events).toEqual([{ event: undefined, data: "a" }]);
    expect((await readText("data: a\n\ndata: half\n")).events).toEqual([{ event: undefined, data: "a" }]);
  });

  test("that is cut throws, after the events that were whole and without the half one", async () => {
    const reading = readEvents(bodyOf([bytesOf("data: a\n\ndata: hal")], new Error("reset")), 1_000);
    expect((await reading.next()).value).toEqual({ event: undefined, data: "a" });
    expect(await failureOf(reading.next())).toContain("reset");
  });

  test("in which nothing comes any more counts as cut", async () => {
    const silent = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => {}) });
    expect(await failureOf(readEvents(silent, 20).next())).toContain("Nothing came for too long.");
  });

  test("with an event that never ends is given up, not kept", async () => {
    const megabyte = new Uint8Array(1024 * 1024).fill(0x61);
    const endless = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(megabyte) });
    expect(await failureOf(readEvents(endless, 1_000).next())).toContain("too large");
    const lines = bytesOf("data: aaaaaaaaaa\n".repeat(64 * 1024));
    const many = new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(lines) });
    expect(await failureOf(readEvents(many, 1_000).next())).toContain("too large");
  });

  test("may hold an event as large as the gateway passes, in as many pieces as it likes", async () => {
    const large = bytesOf(`data: ${"a".repeat(32 * 1024 * 1024 - 8)}\n\n`);
    const pieces = Array.from({ length: Math.ceil(large.length / 16_384) }, (_, at) =>
      large.subarray(at * 16_384, (at + 1) * 16_384),
    );
    const { events } = await readAll(bodyOf(pieces));
    expect(events.map(({ data }) => data.length)).toEqual([32 * 1024 * 1024 - 8]);
  });

  test("may have any character in its data that ends no line", async () => {
    const { events } = await readText("data: a\u2028b\u2029c: d\n\n");
    expect(events).toEqual([{ event: undefined, data: "a\u2028b\u2029c: d" }]);
  });

  test("that its reader leaves is let go at the other end too", async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(bytesOf("data: a\n\n")),
      cancel: () => {
        cancelled = true;
      },
    });
    for await (const _event of readEvents(body, 1_000)) break;
    expect(cancelled).toBe(true);
  });
});
