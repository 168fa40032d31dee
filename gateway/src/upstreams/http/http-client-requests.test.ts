// What leaves for a vendor, byte by byte.

import { afterEach, expect, test } from "bun:test";
import { createHttpClient } from "./http-client.ts";
import { answer, createRawVendors, get, noAnswer, ok, post } from "./test-raw-vendors.ts";

const { openVendor, closeVendors } = createRawVendors();
afterEach(closeVendors);

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
