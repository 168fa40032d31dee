// Events that come packed, without their type, or to somebody who asked for none: what passes is what is paid.

import { describe, expect, test } from "bun:test";
import { eventStream } from "../support/scripted-vendor.ts";
import { said, useOddVendor } from "./odd-vendor.ts";

const { vendor, receiptOf, ask } = await useOddVendor();

const whole = `${said}data: [DONE]\n\n`;

describe("a stream that comes", () => {
  const ways: Readonly<Record<string, () => Response>> = {
    packed: () =>
      new Response(Bun.gzipSync(Buffer.from(whole)), {
        headers: { "content-type": "text/event-stream", "content-encoding": "gzip" },
      }),
    "as plain text": () => new Response(whole, { headers: { "content-type": "text/plain" } }),
    "without a type": () => new Response(Buffer.from(whole)),
  };
  for (const [name, way] of Object.entries(ways)) {
    test(`${name} is passed on as a stream, and paid for by what its vendor states`, async () => {
      vendor.answer = way;
      const response = await ask();
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toStartWith("text/event-stream");
      expect(await receiptOf(response)).toMatchObject({
        status: "settled",
        usage: { input_tokens: 500, output_tokens: 200 },
        usage_source: "provider",
      });
    });

    test(`${name} is translated for a caller of another dialect`, async () => {
      vendor.answer = way;
      const response = await ask("/v1/messages", { max_tokens: 300 });
      expect(response.status).toBe(200);
      const copy = response.clone();
      expect(await copy.text()).toContain('"type":"message_stop"');
      expect(await receiptOf(response)).toMatchObject({ usage: { input_tokens: 500, output_tokens: 200 } });
    });
  }
});

describe("events for a caller who asked for a whole answer", () => {
  const unasked = { stream: false };

  test("are paid for by what stands in them", async () => {
    vendor.answer = () => eventStream(whole);
    const response = await ask("/v1/chat/completions", unasked);
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      "text/event-stream; charset=utf-8",
    ]);
    expect(await response.clone().text()).toContain('"content":"Hello"');
    expect(await receiptOf(response)).toMatchObject({
      status: "settled",
      usage: { input_tokens: 500, output_tokens: 200 },
      usage_source: "provider",
      charged_micros_usd: 195,
    });
  });

  test("are paid for by what passed, where they do not say what they used", async () => {
    const silent = said.slice(0, said.lastIndexOf("data: "));
    vendor.answer = () =>
      new Response(`${silent}data: [DONE]\n\n`, { headers: { "content-type": "text/plain" } });
    const { usage, usage_source: source } = await receiptOf(await ask("/v1/chat/completions", unasked));
    expect([usage["output_tokens"], source]).toEqual([2, "estimated"]);
    expect(usage["input_tokens"]).toBeGreaterThan(0);
  });

  test("are no answer for a caller of another dialect, and cost nothing", async () => {
    vendor.answer = () => eventStream(whole);
    const response = await ask("/v1/messages", { ...unasked, max_tokens: 300 });
    expect(response.status).toBe(502);
    expect(await receiptOf(response)).toMatchObject({ charged_micros_usd: 0 });
  });
});
