// What a double records of the requests that arrive, measured before it measures the gateway.

import { describe, expect, test } from "bun:test";
import { echoBody, createEcho, plainGet } from "./echo.ts";
import { createKeeper } from "./exchange.ts";
import { sendRaw } from "./raw-http.ts";
import { openVendorDouble } from "./vendor-double.ts";

const keep = createKeeper();
const openEcho = createEcho(keep);

describe("recording", () => {
  test("a request is recorded as it arrived, duplicates, order and case included", async () => {
    const vendor = await openEcho();
    const raw =
      "POST /a?b=%7e&b=2 HTTP/1.1\r\nhost: v\r\nX-Two: 1\r\nx-two: 2\r\nContent-Length: 3\r\n\r\n\0\xffz";
    const { responses } = await sendRaw(vendor.port, raw, { expectResponses: 1 });

    expect(responses[0]?.status).toBe(201);
    const [request] = vendor.requests;
    expect(request?.method).toBe("POST");
    expect(request?.target).toBe("/a?b=%7e&b=2");
    expect(request?.headers).toEqual([
      ["host", "v"],
      ["X-Two", "1"],
      ["x-two", "2"],
      ["Content-Length", "3"],
    ]);
    expect(request?.body).toEqual(Uint8Array.of(0, 255, 122));
    expect(Buffer.from(request?.raw ?? []).toString("latin1")).toBe(raw);
  });

  test("a chunked request is recorded without its framing", async () => {
    const vendor = await openEcho();
    const raw =
      "POST /a HTTP/1.1\r\nHost: v\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=1\r\nde\r\n0\r\nT: 1\r\n\r\n";
    const { responses } = await sendRaw(vendor.port, raw, { expectResponses: 1 });
    expect(responses[0]?.body).toBe("abcde");
  });

  test("a large body arrives whole and in reasonable time", async () => {
    const vendor = await openEcho();
    const body = new Uint8Array(32 * 1024 * 1024).fill(97);
    const answer = await fetch(`${vendor.url}/a`, { method: "POST", body });
    expect((await answer.bytes()).length).toBe(body.length);
    expect(vendor.requests[0]?.body.length).toBe(body.length);
  });

  test("connections are kept alive, pipelined requests answered in order", async () => {
    const vendor = await openEcho();
    for (let call = 0; call < 3; call += 1) await (await fetch(`${vendor.url}/a`)).text();
    expect(vendor.requests.map(({ connection }) => connection)).toEqual([0, 0, 0]);

    const post = "POST /a HTTP/1.1\r\nHost: v\r\nContent-Length: 2\r\n\r\nhi";
    const { responses } = await sendRaw(vendor.port, plainGet + post + plainGet, { expectResponses: 3 });
    expect(responses.map(({ body }) => body)).toEqual([echoBody, "hi", echoBody]);
    expect(vendor.connections().opened).toBe(2);
  });

  test("a request that asks to close is answered and the connection closed", async () => {
    const vendor = await openEcho();
    const raw = "GET /a HTTP/1.1\r\nHost: v\r\nConnection: close\r\n\r\n";
    const { responses, closed, reset } = await sendRaw(vendor.port, raw);
    expect({ count: responses.length, closed, reset }).toEqual({ count: 1, closed: true, reset: false });
  });

  test.each([
    ["two Hosts", "GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"],
    [
      "length and chunked",
      "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["two lengths", "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na"],
    ["a folded header", "GET /a HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n"],
    ["a bare LF", "GET /a HTTP/1.1\r\nHost: a\r\nX: 1\nY: 2\r\n\r\n"],
    ["no HTTP at all", "hello\r\n\r\n"],
  ])("a vendor's edge refuses %s and says so", async (_, raw) => {
    const vendor = await openEcho();
    const { responses, closed } = await sendRaw(vendor.port, raw);
    expect(responses[0]?.status).toBe(400);
    expect(closed).toBe(true);
    expect(vendor.requests).toHaveLength(0);
    expect(vendor.violations).toHaveLength(1);
  });

  test("a handler that throws is a violation, not silence", async () => {
    const fail = (): never => {
      throw new Error("bug");
    };
    const vendor = await keep(openVendorDouble({ handlers: { "*": fail } }));
    expect((await sendRaw(vendor.port, plainGet)).closed).toBe(true);
    expect(vendor.violations).toEqual(["handler threw: Error: bug"]);
  });
});
