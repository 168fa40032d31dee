// Images and sound in answers whose vendor never comes to say what they used: they were delivered, so they are paid for.

import { describe, expect, test } from "bun:test";
import { begunStream, receiptOfDied } from "../support/died-stream.ts";
import { asEvents, eventStream, useScriptedVendor } from "../support/scripted-vendor.ts";

const { vendor, gateway, account, ...calls } = await useScriptedVendor(
  (url) => `
sandbox: off
upstreams:
  openai: { protocol: openai, url: "${url}", key: "sk-operator-openai-000000000000", hosted_tools: allow }
  gemini: { protocol: gemini, url: "${url}", key: "goog-operator-00000000000000000" }
models:
  talker: { via: [openai], price: { input: 2, output: 10, input_audio: 40, output_audio: 80 }, max_output_tokens: 10000 }
  painter: { via: [gemini], price: { input: 1, output: 2, output_audio: 8 }, max_output_tokens: 10000 }
`,
  { tier: "enterprise", creditUsd: "1000" },
);

/** What an answer usually comes to, where no limit is below it. */
const outputExpected = 512;

/** The vendor says these, and no more. */
const cutAfter = (...events: readonly object[]) => {
  vendor.answer = () => eventStream(asEvents(events));
};

const receiptOf = async (path: string, body: object) =>
  calls.receiptOf(await gateway.post(account, path, body));

const generatePath = "/v1beta/models/painter:streamGenerateContent?alt=sse";
const generate = { contents: [{ role: "user", parts: [{ text: "Draw a fox" }] }] };
const chat = { model: "talker", stream: true, messages: [{ role: "user", content: "Draw a fox" }] };

const base64 = "UklGRg".repeat(1_000);
const picture = { inlineData: { mimeType: "image/png", data: base64 } };
const sound = { inlineData: { mimeType: "audio/L16;codec=pcm;rate=24000", data: base64 } };
const chunk = (part: object, usageMetadata?: object) => ({
  candidates: [{ content: { role: "model", parts: [part] } }],
  ...(usageMetadata ? { usageMetadata } : {}),
});
const delta = (members: object) => ({
  id: "c",
  choices: [{ index: 0, delta: members, finish_reason: null }],
});

describe("a stream that ends too early after Google's", () => {
  const figures = { promptTokenCount: 9, candidatesTokenCount: 1_290, totalTokenCount: 1_299 };

  test.each([
    ["picture", picture],
    ["picture that was a thought", { ...picture, thought: true }],
    ["sound", sound],
  ])("%s is charged by the figures told so far", async (_what, part) => {
    cutAfter(chunk(part, figures));
    expect(await receiptOf(generatePath, generate)).toMatchObject({
      status: "settled",
      outcome: "failed",
      usage: { input_tokens: 9, output_tokens: 1_290 },
      usage_source: "estimated",
      charged_micros_usd: 9 + 1_290 * 2,
    });
  });

  test.each([
    ["picture", picture],
    ["sound", sound],
  ])("%s is charged what was expected where no figure counts it", async (_what, part) => {
    const early = { promptTokenCount: 9, totalTokenCount: 9 };
    for (const [events, usage] of [
      [[chunk(part)], { output_tokens: outputExpected }],
      [[chunk(part, early)], { input_tokens: 9, output_tokens: outputExpected }],
      [[chunk({ text: "Here" }, figures), chunk(part)], { input_tokens: 9, output_tokens: 1_290 }],
      [
        [chunk({ text: "Here" }, { ...figures, candidatesTokenCount: 1 }), chunk(part)],
        { input_tokens: 9, output_tokens: outputExpected },
      ],
      [[chunk({ text: "word".repeat(1_000) }), chunk(part)], { output_tokens: 1_000 }],
    ] as const) {
      cutAfter(...events);
      expect(await receiptOf(generatePath, generate)).toMatchObject({ status: "settled", usage });
    }
    cutAfter(chunk(part));
    const short = { ...generate, generationConfig: { maxOutputTokens: 100 } };
    expect(await receiptOf(generatePath, short)).toMatchObject({ usage: { output_tokens: 100 } });
  });

  test("picture is charged also to callers of another dialect, and by the next start of a gateway that died", async () => {
    cutAfter(chunk(picture, figures));
    expect(await receiptOf("/v1/chat/completions", { ...chat, model: "painter" })).toMatchObject({
      usage: { input_tokens: 9, output_tokens: 1_290 },
    });
    vendor.answer = () => begunStream(chunk(picture, figures));
    expect(await receiptOfDied(gateway, account, generatePath, generate)).toMatchObject({
      status: "settled",
      usage: { input_tokens: 9, output_tokens: 1_290 },
    });
  });

  test("image without a byte in it costs nothing", async () => {
    for (const part of [{ inlineData: { mimeType: "image/png", data: "" } }, { inlineData: null }, {}]) {
      cutAfter(chunk(part, figures));
      const receipt = await receiptOf(generatePath, generate);
      expect([JSON.stringify(part), receipt.charged_micros_usd]).toEqual([JSON.stringify(part), 0]);
    }
  });
});

describe("a stream of OpenAI's dialect that ends too early", () => {
  const spoken = { ...chat, modalities: ["text", "audio"], audio: { voice: "alloy", format: "pcm16" } };

  test("after a piece of sound is charged what was expected, and after words of it for these", async () => {
    const words = delta({ audio: { id: "a", transcript: "The quick brown fox jumps over it." } });
    cutAfter(delta({ role: "assistant", audio: { id: "a", expires_at: 1 } }), words);
    expect(await receiptOf("/v1/chat/completions", spoken)).toMatchObject({
      status: "settled",
      usage: { output_tokens: 9 },
    });
    cutAfter(words, delta({ audio: { data: base64 } }));
    expect(await receiptOf("/v1/chat/completions", spoken)).toMatchObject({
      status: "settled",
      usage: { output_tokens: outputExpected },
    });
  });

  test("before a word or a sound of it costs nothing", async () => {
    cutAfter(delta({ role: "assistant", audio: { id: "a", expires_at: 1 } }));
    expect(await receiptOf("/v1/chat/completions", spoken)).toMatchObject({ charged_micros_usd: 0 });
  });

  test("after an image is charged what was expected, whoever asked", async () => {
    const images = [{ type: "image_url", image_url: { url: `data:image/png;base64,${base64}` } }];
    for (const path of ["/v1/chat/completions", "/v1/messages"]) {
      cutAfter(delta({ role: "assistant", content: "", images }));
      expect(await receiptOf(path, { ...chat, max_tokens: 5_000 })).toMatchObject({
        status: "settled",
        usage: { output_tokens: outputExpected },
      });
    }
  });

  test("in the middle of a response is charged what was expected for sound and images, by no byte of them", async () => {
    const asked = { model: "talker", input: "Draw a fox", stream: true };
    const item = { type: "image_generation_call", status: "completed" };
    for (const [event, expected] of [
      [{ type: "response.audio.delta", delta: base64 }, outputExpected],
      [{ type: "response.image_generation_call.partial_image", partial_image_b64: base64 }, outputExpected],
      [{ type: "response.output_item.done", item: { ...item, result: base64 } }, outputExpected],
      [{ type: "response.output_item.done", item: { ...item, result: null } }, undefined],
    ] as const) {
      cutAfter(event);
      const { usage } = await receiptOf("/v1/responses", asked);
      expect([event.type, usage["output_tokens"]]).toEqual([event.type, expected]);
    }
  });
});

test("a stream that says at its end what it used is charged by that, whatever its media came to", async () => {
  const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
  const end = [
    { id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
    { choices: [], usage },
  ];
  vendor.answer = () =>
    eventStream(`${asEvents([delta({ audio: { data: base64 } }), ...end])}data: [DONE]\n\n`);
  expect(await receiptOf("/v1/chat/completions", chat)).toMatchObject({
    usage: { input_tokens: 9, output_tokens: 3 },
    usage_source: "provider",
  });
});

test("a whole answer that is an image and says no figure is charged what was expected", async () => {
  vendor.answer = () => Response.json(chunk(picture));
  const path = generatePath.replace(":streamG", ":g");
  expect(await receiptOf(path, generate)).toMatchObject({
    status: "settled",
    usage: { output_tokens: outputExpected },
    usage_source: "estimated",
  });
});
