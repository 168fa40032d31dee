import { describe, expect, test } from "bun:test";
import { createEcho, plainGet } from "./echo.ts";
import { createKeeper } from "./exchange.ts";
import { sendRaw } from "./raw-http.ts";

const openEcho = createEcho(createKeeper());

describe("sendRaw", () => {
  test("a body without framing is complete only when the peer closed", async () => {
    const vendor = await openEcho();
    const bytes = "HTTP/1.1 200 OK\r\n\r\nabc";
    vendor.answerNext({ kind: "bytes", bytes, ending: "close" });
    expect((await sendRaw(vendor.port, plainGet)).responses[0]).toMatchObject({
      body: "abc",
      complete: true,
    });
    vendor.answerNext({ kind: "bytes", bytes, ending: "hang" });
    const { responses } = await sendRaw(vendor.port, plainGet, { waitMs: 80 });
    expect(responses[0]).toMatchObject({ body: "abc", complete: false });
  });

  test("the answer to HEAD has no body, whatever its Content-Length", async () => {
    const vendor = await openEcho();
    vendor.answerNext({
      kind: "bytes",
      bytes: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
      ending: "keep",
    });
    const { responses } = await sendRaw(vendor.port, "HEAD /a HTTP/1.1\r\nHost: v\r\n\r\n", {
      expectResponses: 1,
    });
    expect(responses[0]).toMatchObject({ status: 200, body: "", complete: true });
  });

  test("a string that is not latin1 is refused rather than mangled", () => {
    expect(() => sendRaw(1, "GET /\u20ac")).toThrow("latin1");
  });
});
