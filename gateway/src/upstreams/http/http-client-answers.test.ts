// How answers are read, in whatever pieces they come and wherever they break off.

import { afterEach, expect, test } from "bun:test";
import type { Socket } from "node:net";
import type { NoAnswerReason } from "../../operation/exchanged.ts";
import { expectWithin } from "../../platform/test-within.ts";
import { createHttpClient } from "./http-client.ts";
import { answer, createRawVendors, noAnswer, post } from "./test-raw-vendors.ts";

const { openVendor, closeVendors } = createRawVendors();
afterEach(closeVendors);

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
