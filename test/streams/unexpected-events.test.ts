// Events that come packed, without their type, or to somebody who asked for none: what passes is what is paid.

import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import type { Receipt } from "../../client/src/operations.ts";
import { rawRequest } from "../bad-inputs/raw-request.ts";
import { eventStream } from "../support/scripted-vendor.ts";
import { until } from "../support/until.ts";
import { lastReceipt } from "./model-vendors.ts";
import { chunk, question, said, useOddVendor } from "./odd-vendor.ts";

const { vendor, gateway, account, receiptOf, ask } = await useOddVendor();

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

test("a long stream that comes packed waits for a caller who does not read it, and is paid for when that one leaves", async () => {
  const words = chunk({
    choices: [{ index: 0, delta: { content: "x".repeat(100_000) }, finish_reason: null }],
  });
  vendor.answer = () =>
    new Response(Bun.gzipSync(Buffer.from(words.repeat(300) + whole)), {
      headers: { "content-type": "text/event-stream", "content-encoding": "gzip" },
    });
  const caller = connect(gateway.port, "127.0.0.1");
  const head = new Promise<string>((resolve) => {
    caller.once("data", (bytes) => {
      caller.pause();
      resolve(bytes.toString("latin1"));
    });
  });
  const body = JSON.stringify(question);
  const lines = ["Content-Type: application/json", `Content-Length: ${body.length}`];
  caller.write(rawRequest({ line: "POST /v1/chat/completions HTTP/1.1", key: account, lines, body }));
  const id = /x-request-id: (\S+)/i.exec(await head)?.[1];
  await Bun.sleep(300);
  const last = (): Promise<Receipt> => lastReceipt(gateway, account);
  expect(await last()).toMatchObject({ request_id: id, status: "dispatched" });
  caller.destroy();
  await until(async () => (await last()).status === "settled");
  expect(await last()).toMatchObject({
    request_id: id,
    usage: { input_tokens: 500, output_tokens: 200 },
    usage_source: "provider",
  });
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
