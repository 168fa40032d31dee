import { afterEach, expect, test } from "bun:test";
import { createServer, type AddressInfo, type Socket } from "node:net";
import type { NoAnswerReason } from "../../operation/upstream.ts";
import { keySlot } from "../../limits/call-limits.ts";
import { expectWithin } from "../../platform/test-within.ts";
import {
  createHttpClient,
  usualLimits,
  type HttpClient,
  type HttpOutcome,
  type HttpStream,
} from "./http-client.ts";

type Limits = Parameters<typeof createHttpClient>[0];

/** A vendor of whom every byte is written here; it notes what it is sent, connection by connection. */
async function openVendor(serve: (socket: Socket, received: string, connection: number) => void) {
  const received: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer({ noDelay: true }, (socket) => {
    const connection = received.push("") - 1;
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      received[connection] += bytes.toString("latin1");
      serve(socket, bytes.toString("latin1"), connection);
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, sockets };
}

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

const post = (
  client: HttpClient,
  url: string,
  body: string | Uint8Array = "{}",
  firstByteTimeoutMs = 1_000,
) => client.send({ url, method: "POST", headers: {}, body, firstByteTimeoutMs });
const get = (client: HttpClient, url: string, firstByteTimeoutMs = 1_000) =>
  client.send({ url, method: "GET", headers: {}, body: undefined, firstByteTimeoutMs });

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const answer = (text: string): HttpOutcome => ({
  kind: "answered",
  status: 200,
  contentType: undefined,
  retryAfter: undefined,
  date: undefined,
  body: Buffer.from(text),
});
const noAnswer = (reason: NoAnswerReason, sent: boolean): HttpOutcome => ({
  kind: "no_answer",
  reason,
  sent,
});

test("where no connection comes about, nothing was sent", async () => {
  for (const url of ["http://127.0.0.1:9/", "http://[::1]:9/", "http://nowhere.invalid/"]) {
    expect(await get(createHttpClient(), url)).toEqual(noAnswer("unreachable", false));
  }
});

test("where TLS does not come about, nothing was sent, and nobody waits for it", async () => {
  const vendor = await openVendor((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  const outcome = await get(createHttpClient(), vendor.url.replace("http:", "https:"));
  expect(outcome).toEqual(noAnswer("unreachable", false));
});

test("where no connection stands in time, it is certain that nothing was sent", async () => {
  const vendor = await openVendor(() => {});
  const outcome = await get(createHttpClient(), vendor.url.replace("http:", "https:"), 100);
  expect(outcome).toEqual(noAnswer("timeout", false));
});

test("a connection has a time of its own to come about in, and what waited for it was not sent; an answer may take longer", async () => {
  const neverShakesHands = await openVendor(() => {});
  const slow = await openVendor((socket) => setTimeout(() => socket.write(ok), 400));
  const client = createHttpClient({ connectTimeoutMs: 100 });
  await expectWithin(1_000, async () => {
    const outcome = await get(client, neverShakesHands.url.replace("http:", "https:"), 30_000);
    expect(outcome).toEqual(noAnswer("unreachable", false));
  });
  expect(await get(client, slow.url, 30_000)).toEqual(answer("ok"));
});

test("a request is written as HTTP says it", async () => {
  const vendor = await openVendor((socket) => socket.write(ok));
  const client = createHttpClient();
  await client.send({
    url: `${vendor.url}/a b/../c?x="1"#y`,
    method: "POST",
    headers: { "content-type": "application/json", "x-name": "caf\xe9" },
    body: "é",
    firstByteTimeoutMs: 1_000,
  });
  const host = vendor.url.slice("http://".length);
  expect(vendor.received[0]).toBe(
    `POST /c?x=%221%22 HTTP/1.1\r\nhost: ${host}\r\ncontent-type: application/json\r\nx-name: caf\xe9\r\ncontent-length: 2\r\n\r\n\xc3\xa9`,
  );
  await client.send({
    url: vendor.url,
    method: "POST",
    headers: {},
    body: undefined,
    firstByteTimeoutMs: 1_000,
  });
  expect(vendor.received[0]).toEndWith(`POST / HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 0\r\n\r\n`);
});

test("requests that share their headers keep their own names, at each upstream", async () => {
  const vendors = [
    await openVendor((socket) => socket.write(ok)),
    await openVendor((socket) => socket.write(ok)),
  ];
  const client = createHttpClient();
  const common = { method: "GET", headers: { "x-key": "k" }, body: undefined } as const;
  for (const [at, vendor] of vendors.entries()) {
    for (const requestId of [`first-${at}`, `second-${at}`])
      await client.send({ ...common, url: vendor.url, requestId, firstByteTimeoutMs: 1_000 });
    const host = vendor.url.slice("http://".length);
    const asked = (id: string): string =>
      `GET / HTTP/1.1\r\nhost: ${host}\r\nx-key: k\r\nx-request-id: ${id}\r\n\r\n`;
    expect(vendor.received.join("")).toBe(asked(`first-${at}`) + asked(`second-${at}`));
  }
});

test("an address with a name and a password asks for them, unless a key is sent", async () => {
  const vendor = await openVendor((socket) => socket.write(ok));
  await get(createHttpClient(), vendor.url.replace("//", "//user:pa%20ss@"));
  expect(vendor.received[0]).toContain(`\r\nauthorization: Basic ${btoa("user:pa ss")}\r\n`);
});

test.each(["a\r\nx-evil: 1", "a\nb", "a\0b", "a\u{100}b"])("a header of %j does not leave", async (value) => {
  const vendor = await openVendor((socket) => socket.write(ok));
  const headers = { "x-name": value };
  const request = {
    url: vendor.url,
    method: "GET",
    headers,
    body: undefined,
    firstByteTimeoutMs: 500,
  } as const;
  expect(await createHttpClient().send(request)).toEqual(noAnswer("unreachable", false));
  const named = { ...request, headers: {}, requestId: value };
  expect(await createHttpClient().send(named)).toEqual(noAnswer("unreachable", false));
  expect(vendor.received).toEqual([]);
});

test("an answer that comes byte by byte is read like any other", async () => {
  const text = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n";
  const vendor = await openVendor((socket) => {
    let at = 0;
    const timer = setInterval(
      () => (at < text.length ? socket.write(text[at++] ?? "") : clearInterval(timer)),
      0,
    );
  });
  expect(await post(createHttpClient(), vendor.url)).toEqual(answer("hello"));
});

test("calls one after the other share a connection, GETs too; calls at once do not", async () => {
  const vendor = await openVendor((socket) => socket.write(ok));
  const client = createHttpClient();
  for (let calls = 0; calls < 3; calls++) {
    expect(await post(client, vendor.url)).toEqual(answer("ok"));
    expect(await get(client, vendor.url)).toEqual(answer("ok"));
  }
  expect(vendor.received).toHaveLength(1);
  await Promise.all([get(client, vendor.url), get(client, vendor.url)]);
  expect(vendor.received).toHaveLength(2);
});

test("a request leaves once, also over a connection that the vendor closes after each answer", async () => {
  let requests = 0;
  const vendor = await openVendor((socket) => {
    requests++;
    // Answers the first as if it would keep the connection, and drops every other.
    if (requests % 2 === 1) socket.write(ok);
    else socket.destroy();
  });
  const client = createHttpClient();
  const outcomes: unknown[] = [];
  for (let calls = 0; calls < 3; calls++)
    outcomes.push(await get(client, vendor.url), await post(client, vendor.url));
  const pair = [answer("ok"), noAnswer("cut_off", true)];
  expect(outcomes).toEqual([...pair, ...pair, ...pair]);
  expect(requests).toBe(6);
  expect(vendor.received).toHaveLength(3);
});

test("a POST on a connection that is reset when it is used again has left once, and nobody knows what became of it", async () => {
  const vendor = await openVendor((socket, _bytes, connection) => {
    if (vendor.received[connection]?.split("POST").length === 2) socket.write(ok);
    else socket.resetAndDestroy();
  });
  const client = createHttpClient();
  expect(await post(client, vendor.url)).toEqual(answer("ok"));
  expect(await post(client, vendor.url)).toEqual(noAnswer("cut_off", true));
  expect(vendor.received).toHaveLength(1);
  expect(vendor.received[0]?.match(/POST/g)).toHaveLength(2);
});

test.each(["close", "reset", "speak"] as const)(
  "an idle connection whose vendor decides to %s is not used again",
  async (how) => {
    const vendor = await openVendor((socket, _bytes, connection) => {
      socket.write(ok);
      if (connection > 0) return;
      setTimeout(() => {
        if (how === "close") socket.end();
        else if (how === "reset") socket.resetAndDestroy();
        else socket.write(ok);
      }, 20);
    });
    const client = createHttpClient();
    await post(client, vendor.url);
    await Bun.sleep(60);
    expect(await post(client, vendor.url)).toEqual(answer("ok"));
    expect(vendor.received.map((text) => text.match(/POST/g)?.length)).toEqual([1, 1]);
  },
);

test("a connection that died unnoticed takes nothing, and the request goes over another", async () => {
  const vendor = await openVendor((socket) => socket.write(ok));
  const client = createHttpClient();
  await post(client, vendor.url);
  vendor.sockets[0]?.resetAndDestroy();
  // Nothing is read between the reset and the next request.
  Bun.sleepSync(20);
  expect(await post(client, vendor.url)).toEqual(answer("ok"));
  expect(vendor.received).toHaveLength(2);
});

test.each([
  ["says it closes", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"],
  ["speaks HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"],
  [
    "says more than it announced",
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
  ],
  [
    "keeps connections for a second",
    "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=1\r\nContent-Length: 2\r\n\r\nok",
  ],
])("a vendor that %s is asked over a new connection next", async (_what, text) => {
  const vendor = await openVendor((socket) => socket.write(text));
  const client = createHttpClient();
  for (let calls = 1; calls <= 3; calls++) {
    expect(await post(client, vendor.url)).toEqual(answer("ok"));
    expect(vendor.received).toHaveLength(calls);
  }
});

test("an idle connection is closed after its time, and no more are kept than may be", async () => {
  const vendor = await openVendor((socket) => setTimeout(() => socket.write(ok), 20));
  const client = createHttpClient({ idleMs: 2_000, idleMaxPerOrigin: 2 });
  const ask = (times: number) => Promise.all(Array.from({ length: times }, () => post(client, vendor.url)));
  await ask(4);
  expect(vendor.sockets).toHaveLength(4);
  await ask(3);
  // Two of the four were kept, so one of the three had to be connected anew.
  expect(vendor.sockets).toHaveLength(5);
  const isClosed = (): boolean => vendor.sockets.every((socket) => socket.readyState === "closed");
  const startedMs = performance.now();
  while (!isClosed() && performance.now() - startedMs < 10_000) await Bun.sleep(10);
  expect(isClosed()).toBe(true);
});

test("there are no more connections than may be; what finds none was not sent", async () => {
  const vendor = await openVendor((socket) => setTimeout(() => socket.write(ok), 50));
  const client = createHttpClient({ connectionsMax: 2 });
  const outcomes = await Promise.all([1, 2, 3].map(() => post(client, vendor.url)));
  expect(outcomes).toEqual([answer("ok"), answer("ok"), noAnswer("unreachable", false)]);
  // An idle connection to somebody else makes room.
  const other = await openVendor((socket) => socket.write(ok));
  expect(await post(client, other.url)).toEqual(answer("ok"));
});

test("a large body goes out whole, as text and as bytes, to a vendor that reads slowly", async () => {
  const size = 3 * 1024 * 1024;
  const vendor = await openVendor((socket, _bytes, connection) => {
    socket.pause();
    setTimeout(() => socket.resume(), 1);
    const text = vendor.received[connection] ?? "";
    if (text.length - text.indexOf("\r\n\r\n") - 4 === size) socket.write(ok);
  });
  for (const body of ["x".repeat(size), "é".repeat(size / 2), new Uint8Array(size).fill(120)]) {
    expect(await post(createHttpClient(), vendor.url, body, 5_000)).toEqual(answer("ok"));
  }
});

test("an answer that comes before the body was read is read, and its connection not used again", async () => {
  const early = "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno";
  for (const ending of ["stays", "closes"] as const) {
    const vendor = await openVendor((socket) => {
      socket.pause();
      socket.write(early, () => ending === "closes" && socket.destroy());
    });
    const client = createHttpClient();
    const outcome = await post(client, vendor.url, "x".repeat(30 * 1024 * 1024));
    expect(outcome).toMatchObject({ kind: "answered", status: 413, body: Buffer.from("no") });
    await post(client, vendor.url, "x");
    expect(vendor.received).toHaveLength(2);
  }
});

const whole = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

test("a connection that ends at any place of the answer is cut off, by whatever means", async () => {
  for (const how of ["end", "resetAndDestroy"] as const) {
    for (let bytes = 0; bytes < whole.length; bytes += 3) {
      const vendor = await openVendor((socket) => {
        socket.write(whole.slice(0, bytes), () => setTimeout(() => socket[how](), 2));
      });
      expect(await post(createHttpClient(), vendor.url)).toEqual(noAnswer("cut_off", true));
    }
  }
});

test("a body without a frame ends with its connection, in good order only", async () => {
  for (const [how, expected] of [
    ["end", answer("hello")],
    ["resetAndDestroy", noAnswer("cut_off", true)],
  ] as const) {
    const vendor = await openVendor((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n\r\nhello", () => setTimeout(() => socket[how](), 20));
    });
    expect(await post(createHttpClient(), vendor.url)).toEqual(expected);
  }
});

test("a head that trickles is waited for no longer than the first byte may take, a body no longer than a body", async () => {
  const trickle = (text: string) => (socket: Socket) => {
    let at = 0;
    const timer = setInterval(() => socket.write(text[at++ % text.length] ?? ""), 5);
    socket.on("close", () => clearInterval(timer));
  };
  const head = await openVendor((socket) => {
    socket.write("HTTP/1.1 200 OK\r\nX: ");
    trickle("y")(socket);
  });
  const body = await openVendor((socket) => {
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
    trickle("y")(socket);
  });
  const client = createHttpClient({ bodyTimeoutMs: 150 });
  await expectWithin(1_000, async () => {
    expect(await post(client, head.url, "{}", 150)).toEqual(noAnswer("timeout", true));
    expect(await post(client, body.url)).toEqual(noAnswer("timeout", true));
  });
});

test("an answer that has begun may be silent as long as its request says, and is read while more of it comes", async () => {
  const slow = await openVendor((socket) => {
    socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    const blank = setInterval(() => socket.write("1\r\n\n\r\n"), 30);
    setTimeout(() => {
      clearInterval(blank);
      socket.write("2\r\nok\r\n0\r\n\r\n");
    }, 1_500);
  });
  const silent = await openVendor((socket) =>
    socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n\n\r\n"),
  );
  const request = { method: "POST", headers: {}, body: "{}", firstByteTimeoutMs: 1_000 } as const;
  const asked = { ...request, silenceTimeoutMs: 800 };
  const outcome = await createHttpClient().send({ ...asked, url: slow.url });
  if (outcome.kind !== "answered") throw new Error(`no answer: ${outcome.reason}`);
  expect(Buffer.from(outcome.body).toString().trimStart()).toBe("ok");

  const impatient = createHttpClient({ silenceTimeoutMs: 200 });
  await expectWithin(2_000, async () => {
    expect(await createHttpClient().send({ ...asked, url: silent.url })).toEqual(noAnswer("timeout", true));
    expect(await impatient.send({ ...request, url: silent.url })).toEqual(noAnswer("timeout", true));
  });
});

test("an answer is read up to its bound, however it is framed", async () => {
  const frames: Readonly<Record<string, NoAnswerReason | undefined>> = {
    "Content-Length: 11\r\n\r\nhello world": "too_large",
    "Transfer-Encoding: chunked\r\n\r\n6\r\nhello \r\n5\r\nworld\r\n0\r\n\r\n": "too_large",
    "\r\nhello world": "too_large",
    "Content-Length: 10\r\n\r\nhello worl": undefined,
  };
  for (const [rest, reason] of Object.entries(frames)) {
    const vendor = await openVendor((socket) => socket.end(`HTTP/1.1 200 OK\r\n${rest}`));
    const outcome = await post(createHttpClient({ answerBytesMax: 10 }), vendor.url);
    expect(outcome).toEqual(reason === undefined ? answer("hello worl") : noAnswer(reason, true));
  }
});

/** The pieces of a stream as they come, and how it ended. */
async function openStream(vendorUrl: string, limits: Limits = {}) {
  const request = {
    url: vendorUrl,
    method: "POST",
    headers: {},
    body: "{}",
    firstByteTimeoutMs: 1_000,
  } as const;
  const client = createHttpClient(limits);
  const stream = await client.open(request);
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
  const request = {
    url: vendor.url,
    method: "POST",
    headers: {},
    body: "{}",
    firstByteTimeoutMs: 1_000,
  } as const;
  const told = await createHttpClient().ask(request, true, { read });
  expect(told).toEqual(["streaming", { event: "error", data: "{}" }]);
});

test("a stream is told of without its first event where that is long in coming, or long itself", async () => {
  for (const [first, waitMs] of [
    [": at work\n\n", 100],
    [`data: ${"x".repeat(70_000)}`, 60_000],
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

test("a live stream is never ended within the time that the longest answers take, and keeps its slot until its end", () => {
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

test("what every address ends in is joined with its own query, also where the headers are those of the request before", async () => {
  const vendor = await openVendor((socket) => socket.write(ok));
  const client = createHttpClient();
  const headers = {};
  for (const [path, query] of [
    ["/a", "v=1"],
    ["/a", "v=1"],
    ["/a", "v=2"],
    ["/a", undefined],
    ["/a?b=c", "v=1"],
  ] as const) {
    const request = { url: vendor.url + path, query, method: "GET", headers, body: undefined } as const;
    expect(await client.send({ ...request, firstByteTimeoutMs: 1_000 })).toEqual(answer("ok"));
  }
  const lines = [...vendor.received.join("").matchAll(/^GET (\S+)/gm)].map(([, target]) => target);
  expect(lines).toEqual(["/a?v=1", "/a?v=1", "/a?v=2", "/a", "/a?b=c&v=1"]);
});
