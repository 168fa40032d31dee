// Streams, from their first piece to their end, at the pace of whoever reads them.

import { afterEach, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { keySlot } from "../../limits/call-limits.ts";
import { expectWithin } from "../../platform/test-within.ts";
import type { SseEvent } from "../dialects/dialect.ts";
import { createHttpClient, usualLimits, type HttpOutcome, type HttpStream } from "./http-client.ts";
import type { OutgoingRequest } from "./request-bytes.ts";
import { answer, createRawVendors, get, ok } from "./test-raw-vendors.ts";

const { openVendor, closeVendors } = createRawVendors();
afterEach(closeVendors);

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

test("a stream is handed over from its first piece on, whenever its reader comes", async () => {
  const vendor = await openVendor((socket) => {
    socket.write(`${streamHead}2\r\nhe\r\n`);
    setTimeout(() => socket.write("2\r\nll\r\n"), 10);
    setTimeout(() => socket.write("1\r\no\r\n0\r\n\r\n"), 60);
  });
  for (const waitMs of [0, 30, 100]) {
    const { start, ended, text } = await openStream(vendor.url);
    await Bun.sleep(waitMs);
    start();
    expect([await ended, text()]).toEqual(["whole", "hello"]);
  }
});

test("a stream is told of with its first event, in whatever pieces that comes and after whatever comments", async () => {
  const event = "event: error\ndata: {}\n\n";
  const text = `: at work\n\n: at work\n\n${event}`;
  const chunks = [...text].map((letter) => `1\r\n${letter}\r\n`);
  const vendor = await openVendor((socket) => {
    socket.write(streamHead);
    chunks.forEach((chunk, at) => setTimeout(() => socket.write(chunk), at));
  });
  const read = (outcome: HttpOutcome | HttpStream, opening?: object) => [outcome.kind, opening];
  const told = await createHttpClient().ask(requestOf(vendor.url), true, { read });
  expect(told).toEqual(["streaming", { event: "error", data: "{}" }]);
});

test("a stream is told of without its first event where that is long in coming, or long itself", async () => {
  for (const [first, waitMs] of [
    [": at work\n\n", 100],
    [`data: ${"x".repeat(600_000)}`, 60_000],
  ] as const) {
    const vendor = await openVendor((socket) =>
      socket.write(`${streamHead}${first.length.toString(16)}\r\n${first}\r\n`),
    );
    await expectWithin(1_000, async () => {
      const { stream, start, text } = await openStream(vendor.url, { openingWaitMs: waitMs });
      start();
      expect([stream.kind, text().slice(0, 9)]).toEqual(["streaming", first.slice(0, 9)]);
    });
  }
});

test("a stream that only says that it begins is told of with what follows, but is not waited for without end", async () => {
  const begins = `data: begins ${"x".repeat(200_000)}\n\n`;
  const beginnings = () => (event: SseEvent) => event.data.startsWith("begins");
  for (const [follows, waitMs, opening] of [
    ["data: {}\n\n", 60_000, { event: undefined, data: "{}" }],
    [": at work\n\n", 100, undefined],
  ] as const) {
    const vendor = await openVendor((socket) => {
      socket.write(`${streamHead}${begins.length.toString(16)}\r\n${begins}\r\n`);
      setTimeout(() => socket.write(`${follows.length.toString(16)}\r\n${follows}\r\n`), 20);
    });
    await expectWithin(1_000, async () => {
      const read = (outcome: HttpOutcome | HttpStream, first?: SseEvent) => ({ outcome, first });
      const client = createHttpClient({ openingWaitMs: waitMs });
      const { outcome, first } = await client.ask(requestOf(vendor.url), true, { read, beginnings });
      expect([outcome.kind, first]).toEqual(["streaming", opening]);
      if (outcome.kind !== "streaming") return;
      const come = Promise.withResolvers<void>();
      let text = "";
      const onPiece = (piece: Uint8Array): void => {
        text += Buffer.from(piece).toString();
        if (text.length === begins.length + follows.length) come.resolve();
      };
      outcome.start({ onPiece, onEnd: () => {} });
      await come.promise;
      expect(text).toBe(begins + follows);
      outcome.leave();
    });
  }
});

test("a stream is known by its type in any case, and identity is no encoding", async () => {
  const types = ["text/event-stream", "Text/Event-Stream; charset=UTF-8", "TEXT/EVENT-STREAM"];
  for (const type of types) {
    const vendor = await openVendor((socket) =>
      socket.end(`HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nContent-Encoding: Identity\r\n\r\nhello`),
    );
    const { start, ended, text } = await openStream(vendor.url);
    start();
    expect([await ended, text()]).toEqual(["whole", "hello"]);
  }
});

test("a stream that breaks off, falls silent, lasts too long, is not HTTP or is left ends as broken", async () => {
  const ends: Readonly<Record<string, (socket: Socket) => unknown>> = {
    close: (socket) => socket.end(),
    reset: (socket) => socket.resetAndDestroy(),
    silence: () => {},
    garbage: (socket) => socket.write("oops"),
    endless: (socket) => setInterval(() => socket.write("1\r\n.\r\n"), 5).unref(),
    left: () => {},
  };
  for (const [how, end] of Object.entries(ends)) {
    const vendor = await openVendor((socket) => {
      socket.write(`${streamHead}5\r\nhello\r\n`);
      setTimeout(() => end(socket), 20);
    });
    const { stream, start, ended, text } = await openStream(vendor.url, {
      silenceTimeoutMs: 200,
      streamTimeoutMs: 400,
    });
    start();
    if (how === "left") setTimeout(() => stream.leave(), 20);
    expect([how, await ended, text().slice(0, 5)]).toEqual([how, "broken", "hello"]);
  }
});

test("a stream whose reader never goes on ends all the same, when its time is over", async () => {
  for (const limits of [{ pauseTimeoutMs: 200 }, { streamTimeoutMs: 200 }]) {
    const vendor = await openVendor((socket) => socket.write(`${streamHead}5\r\nhello\r\n`));
    const { stream, start, ended } = await openStream(vendor.url, { ...limits, openingWaitMs: 20 });
    start(() => stream.pause());
    expect(await ended).toBe("broken");
  }
});

test("a stream lasts while its vendor speaks and its reader reads, however long that is in all", async () => {
  const vendor = await openVendor((socket) => {
    socket.write(streamHead);
    for (let at = 1; at <= 16; at++) setTimeout(() => socket.write("9\r\ndata: .\n\n\r\n"), at * 50);
    setTimeout(() => socket.write("0\r\n\r\n"), 850);
  });
  const limits = { silenceTimeoutMs: 400, pauseTimeoutMs: 400 };
  const { stream, start, ended, text } = await openStream(vendor.url, limits);
  start(() => {
    stream.pause();
    setTimeout(() => stream.resume(), 20);
  });
  expect([await ended, text()]).toEqual(["whole", "data: .\n\n".repeat(16)]);
});

test("a stream may last two hours, and the lease of its slot is longer", () => {
  const hourMs = 60 * 60_000;
  expect(usualLimits.streamTimeoutMs).toBeGreaterThanOrEqual(2 * hourMs);
  const slot = keySlot("key", "call", 1);
  expect(slot.kind === "slot" && slot.leaseMs).toBeGreaterThan(usualLimits.streamTimeoutMs);
});

test("a stream that is paused takes no more from its vendor than the system keeps, and goes on where it was", async () => {
  const size = 64 * 1024 * 1024;
  let written = 0;
  const vendor = await openVendor((socket) => {
    socket.write(streamHead);
    const chunk = Buffer.from(`10000\r\n${"x".repeat(65_536)}\r\n`);
    const write = (): void => {
      while (written < size) {
        written += 65_536;
        if (!socket.write(chunk)) return void socket.once("drain", write);
      }
      socket.write("0\r\n\r\n");
    };
    write();
  });
  const silenceTimeoutMs = 1_000;
  const { stream, start, ended, bytes } = await openStream(vendor.url, { silenceTimeoutMs });
  start(() => {
    if (bytes() < 200_000 || bytes() > 1_000_000) return;
    stream.pause();
  });
  // A pause is no silence of the vendor's, however long it is.
  await Bun.sleep(silenceTimeoutMs + 150);
  const [taken, sent] = [bytes(), written];
  await Bun.sleep(100);
  expect([bytes(), written]).toEqual([taken, sent]);
  expect(taken).toBeLessThan(2_000_000);
  expect(sent).toBeLessThan(size / 2);
  const resume = setInterval(() => stream.resume(), 1);
  expect(await ended).toBe("whole");
  clearInterval(resume);
  expect(bytes()).toBe(size);
});

test("a connection whose stream ended while its reader was behind reads the next answer too", async () => {
  const vendor = await openVendor((socket, received) => {
    if (received.startsWith("GET")) return void socket.write(ok);
    socket.write(`${streamHead}2\r\nhe\r\n`);
    setTimeout(() => socket.write("3\r\nllo\r\n0\r\n\r\n"), 20);
  });
  const { client, stream, start, ended, text } = await openStream(vendor.url);
  const behind = Promise.withResolvers<void>();
  start(() => {
    if (text() !== "hello") return;
    stream.pause();
    behind.resolve();
  });
  await behind.promise;
  expect(await get(client, vendor.url)).toEqual(answer("ok"));
  expect(vendor.sockets).toHaveLength(1);
  stream.resume();
  expect(await ended).toBe("whole");
});

type Limits = Parameters<typeof createHttpClient>[0];

/** The pieces of a stream as they come, and how it ended. */
const requestOf = (url: string): OutgoingRequest => ({
  url,
  method: "POST",
  headers: {},
  body: "{}",
  firstByteTimeoutMs: 1_000,
});

async function openStream(vendorUrl: string, limits: Limits = {}) {
  const client = createHttpClient(limits);
  const stream = await client.open(requestOf(vendorUrl));
  if (stream.kind !== "streaming") throw new Error(`no stream: ${stream.kind}`);
  let bytes = 0;
  let text = "";
  const ended = Promise.withResolvers<string>();
  const start = (onPiece: () => void = () => {}): void =>
    stream.start({
      onPiece: (piece) => {
        bytes += piece.length;
        if (text.length < 1_000) text += Buffer.from(piece).toString();
        onPiece();
      },
      onEnd: ended.resolve,
    });
  return { client, stream, start, ended: ended.promise, bytes: () => bytes, text: () => text };
}
