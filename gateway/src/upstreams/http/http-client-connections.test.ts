// How connections come about, are shared, and die: a request leaves once, or certainly not at all.

import { afterEach, expect, test } from "bun:test";
import { expectWithin } from "../../platform/test-within.ts";
import { createHttpClient } from "./http-client.ts";
import { answer, createRawVendors, get, noAnswer, ok, post } from "./test-raw-vendors.ts";

const { openVendor, closeVendors } = createRawVendors();
afterEach(closeVendors);

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
    const done = Promise.withResolvers<void>();
    const vendor = await openVendor((socket, _bytes, connection) => {
      socket.write(ok);
      if (connection > 0) return;
      setTimeout(() => {
        if (how === "close") socket.end();
        else if (how === "reset") socket.resetAndDestroy();
        else socket.write(ok);
        done.resolve();
      }, 20);
    });
    const client = createHttpClient();
    await post(client, vendor.url);
    await done.promise;
    // Time for it to be heard of.
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
