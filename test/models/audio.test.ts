// What is heard and spoken costs several times what is read and written: it has prices of its own, and where it has none it
// is not sold.

import { describe, expect, test } from "bun:test";
import { begunStream, receiptOfDied } from "../support/died-stream.ts";
import { chatPath } from "../support/purchases.ts";
import { asEvents, eventStream, useScriptedVendor } from "../support/scripted-vendor.ts";

const { vendor, gateway, account, receiptOf } = await useScriptedVendor(
  (url) => `
sandbox: off
upstreams:
  openai: { protocol: openai, url: "${url}", key: "sk-operator-openai-000000000000" }
  gemini: { protocol: gemini, url: "${url}", key: "goog-operator-00000000000000000" }
models:
  talker: { via: [openai], price: { input: 2, output: 10, input_audio: 40, output_audio: 80 }, max_output_tokens: 1000, context_tokens: 10000 }
  listener: { via: [gemini], price: { input: 1, cache_read: 0.5, output: 2, input_audio: 4 }, context_tokens: 10000 }
  deaf: { via: [gemini], price: { input: 1, cache_read: 0.5, output: 2 }, context_tokens: 10000 }
`,
  { tier: "enterprise", creditUsd: "100" },
);

const recording = { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } };
const chatOf = (content: unknown, more: object = {}, model = "talker") => ({
  model,
  max_tokens: 100,
  messages: [{ role: "user", content }],
  ...more,
});
const spoken = { modalities: ["text", "audio"], audio: { voice: "alloy", format: "wav" } };

const geminiPath = (model: string): string => `/v1beta/models/${model}:generateContent`;
const sung = { inlineData: { mimeType: "audio/ogg", data: "T2dnUw==" } };
const film = { fileData: { fileUri: "https://example.com/fox.mp4", mimeType: "video/mp4" } };
const generate = (part: object, config: object = {}) => ({
  contents: [{ role: "user", parts: [part] }],
  generationConfig: { maxOutputTokens: 100, ...config },
});

const mostOf = async (path: string, body: object): Promise<number> => {
  const response = await gateway.post(account, path, body, { "x-tollgate-cost-mode": "quote" });
  return ((await response.json()) as { max_cost_micros_usd: number }).max_cost_micros_usd;
};

describe("audio that has a price", () => {
  test("is held at it: what is heard, what may be, and what is spoken", async () => {
    expect(await mostOf(chatPath, chatOf([recording]))).toBe(10_000 * 40 + 100 * 10);
    expect(await mostOf(chatPath, chatOf([recording], spoken))).toBe(10_000 * 40 + 100 * 80);
    for (const part of [
      { type: "input_audio", input_audio: "https://example.com/fox.mp3" },
      { type: "video", video: "https://example.com/fox.mp4" },
      { type: "unheard_of", of: "https://example.com/fox" },
    ])
      expect(await mostOf(chatPath, chatOf([part]))).toBe(10_000 * 40 + 100 * 10);
    const body = chatOf("hello", spoken);
    expect(await mostOf(chatPath, body)).toBe(JSON.stringify(body).length * 2 + 100 * 80);
    for (const part of [sung, film])
      expect(await mostOf(geminiPath("listener"), generate(part))).toBe(10_000 * 4 + 100 * 2);
    const seen = { fileData: { fileUri: "https://example.com/fox.png", mimeType: "image/png" } };
    expect(await mostOf(geminiPath("listener"), generate(seen))).toBe(10_000 + 100 * 2);
  });

  test("is charged at it, by what OpenAI says was heard and spoken", async () => {
    const usage = {
      prompt_tokens: 500,
      completion_tokens: 90,
      total_tokens: 590,
      prompt_tokens_details: { audio_tokens: 400, cached_tokens: 20 },
      completion_tokens_details: { audio_tokens: 70, reasoning_tokens: 0 },
    };
    vendor.answer = () =>
      Response.json({
        choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
        usage,
      });
    const receipt = await receiptOf(await gateway.post(account, chatPath, chatOf([recording], spoken)));
    expect(receipt).toMatchObject({
      usage: {
        input_tokens: 80,
        cache_read_tokens: 20,
        input_audio_tokens: 400,
        output_tokens: 20,
        output_audio_tokens: 70,
      },
      charged_micros_usd: 100 * 2 + 400 * 40 + 20 * 10 + 70 * 80,
    });
  });

  const usageMetadata = {
    promptTokenCount: 1_000,
    cachedContentTokenCount: 300,
    candidatesTokenCount: 5,
    totalTokenCount: 1_005,
    promptTokensDetails: [
      { modality: "TEXT", tokenCount: 200 },
      { modality: "AUDIO", tokenCount: 800 },
    ],
    cacheTokensDetails: [
      { modality: "AUDIO", tokenCount: 250 },
      { modality: "TEXT", tokenCount: 50 },
    ],
  };
  const content = {
    candidates: [{ content: { role: "model", parts: [{ text: "ok" }] }, finishReason: "STOP" }],
    usageMetadata,
    modelVersion: "listener",
  };
  const heard = {
    usage: {
      input_tokens: 150,
      cache_read_tokens: 50,
      input_audio_tokens: 550,
      cache_read_audio_tokens: 250,
      output_tokens: 5,
    },
    // Without a price of its own, what is heard from a cache costs what is heard.
    charged_micros_usd: 150 + 25 + 550 * 4 + 250 * 4 + 5 * 2,
  };

  test("is charged at it, by what Google says was heard, from a cache too", async () => {
    vendor.answer = () => Response.json(content);
    const whole = await gateway.post(account, geminiPath("listener"), generate(sung));
    expect(await receiptOf(whole)).toMatchObject(heard);
    vendor.answer = () => eventStream(asEvents([content]));
    const path = geminiPath("listener").replace(":g", ":streamG");
    expect(await receiptOf(await gateway.post(account, path, generate(sung)))).toMatchObject(heard);
  });

  test("is charged at it where a vendor answers whole to who asked for a stream, and the sound passes as it came", async () => {
    const completion = {
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "talker",
      choices: [
        {
          index: 0,
          finish_reason: "stop",
          message: {
            role: "assistant",
            content: null,
            audio: { id: "a", data: "UklGRg==", transcript: "Hi." },
          },
        },
      ],
      usage: {
        prompt_tokens: 1_000,
        completion_tokens: 200,
        total_tokens: 1_200,
        prompt_tokens_details: { audio_tokens: 990, cached_tokens: 0 },
        completion_tokens_details: { audio_tokens: 180, reasoning_tokens: 0 },
      },
    };
    const settled = {
      usage: { input_tokens: 10, input_audio_tokens: 990, output_tokens: 20, output_audio_tokens: 180 },
      usage_source: "provider",
      charged_micros_usd: 10 * 2 + 990 * 40 + 20 * 10 + 180 * 80,
    };
    const wish = chatOf([recording], { ...spoken, max_tokens: 300, stream: true });
    vendor.answer = () => Response.json(completion);
    const passed = await gateway.post(account, chatPath, wish);
    expect(await passed.clone().json()).toEqual(completion);
    expect(await receiptOf(passed)).toMatchObject(settled);

    // What was heard alone is answered in words, and these come as the stream that was asked for.
    const [choice] = completion.choices;
    const written = { ...choice, message: { role: "assistant", content: "Hi.", audio: null } };
    vendor.answer = () => Response.json({ ...completion, choices: [written] });
    const streamed = await gateway.post(account, chatPath, wish);
    expect(streamed.headers.get("content-type")).toStartWith("text/event-stream");
    expect(await receiptOf(streamed)).toMatchObject(settled);

    // No other dialect has words for sound: its callers get what there is beside it, in the stream they asked for.
    vendor.answer = () => Response.json(completion);
    const translated = await gateway.post(account, "/v1/messages", chatOf("And?", { stream: true }));
    expect(await translated.clone().text()).toContain('"type":"message_stop"');
    expect(await receiptOf(translated)).toMatchObject({ usage: settled.usage });
  });

  test("is charged at it where Google answers whole to who asked for a stream, and what is no picture passes as it came", async () => {
    const path = `${geminiPath("listener").replace(":g", ":streamG")}?alt=sse`;
    vendor.answer = () => Response.json(content);
    const streamed = await gateway.post(account, path, generate(sung));
    expect(streamed.headers.get("content-type")).toStartWith("text/event-stream");
    expect(await receiptOf(streamed)).toMatchObject(heard);

    const picture = { inlineData: { mimeType: "image/png", data: "iVBORw==" } };
    for (const [part, type] of [
      [sung, "application/json"],
      [{ ...picture, thought: true }, "application/json"],
      [picture, "text/event-stream"],
    ] as const) {
      const said = { ...content, candidates: [{ content: { role: "model", parts: [part] } }] };
      vendor.answer = () => Response.json(said);
      const response = await gateway.post(account, path, generate(sung));
      expect(response.headers.get("content-type")).toStartWith(type);
      expect(await response.clone().text()).toContain(part.inlineData.data);
      expect(await receiptOf(response)).toMatchObject(heard);
    }
  });

  test("is told to callers of another dialect, whole or in a stream", async () => {
    vendor.answer = () => Response.json(content);
    const prompt = { model: "listener", max_tokens: 100, messages: [{ role: "user", content: "And?" }] };
    const details = { cached_tokens: 300, audio_tokens: 800 };
    const whole = await gateway.post(account, chatPath, prompt);
    expect(await whole.clone().json()).toMatchObject({
      usage: { prompt_tokens: 1_000, prompt_tokens_details: details },
    });
    expect(await receiptOf(whole)).toMatchObject({ usage: heard.usage });
    const streamed = await gateway.post(account, chatPath, {
      ...prompt,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(streamed.headers.get("content-type")).toStartWith("text/event-stream");
    expect(await streamed.clone().text()).toContain(`"prompt_tokens_details":${JSON.stringify(details)}`);
    expect(await receiptOf(streamed)).toMatchObject({ usage: heard.usage });
  });

  test("is in the usage report as what was read and written", async () => {
    const other = await gateway.openAccount();
    vendor.answer = () => Response.json(content);
    await (await gateway.post(other, geminiPath("listener"), generate(sung))).text();
    const start = Math.floor(Date.now() / 1000) - 3_600;
    const report = await gateway.call(other, `/v1/usage?start_time=${start}`);
    expect(await report.json()).toMatchObject({
      totals: { input_tokens: 700, cache_read_tokens: 300, output_tokens: 5 },
    });
  });

  test("ships with the models of Google's that hear", async () => {
    const listed = await gateway.call(account, "/v1/models/gemini-2.5-flash");
    expect(await listed.json()).toMatchObject({
      price_usd_per_million_tokens: { input: "0.3", input_audio: "1", cache_read_audio: "0.1" },
    });
  });
});

describe("audio that has no price", () => {
  const refused: readonly (readonly [field: string, path: string, body: object])[] = [
    ["input_audio", chatPath, chatOf([recording], {}, "gpt-4o")],
    ["input_audio", chatPath, chatOf([{ input_audio: { data: "UklGRg==" } }], {}, "gpt-4o")],
    ["audio", chatPath, chatOf([{ audio: { data: "UklGRg==", format: "wav" } }], {}, "gpt-4o")],
    [
      "input_audio",
      chatPath,
      chatOf([{ type: "input_audio", input_audio: "https://a.org/fox.mp3" }], {}, "gpt-4o"),
    ],
    ["input_audio", chatPath, chatOf([{ input_audio: ["UklGRg=="] }], {}, "gpt-4o")],
    ["input_audio", chatPath, chatOf([{ input_audio: { url: "https://a.org/fox.mp3" } }], {}, "gpt-4o")],
    ["audio_url", chatPath, chatOf([{ audio_url: { url: "data:text/plain,UklGRg" } }], {}, "gpt-4o")],
    ["audio", chatPath, chatOf([{ type: "audio", url: "https://a.org/fox.mp3" }], {}, "gpt-4o")],
    ["modalities", chatPath, chatOf("hello", { modalities: ["text", "audio"] }, "gpt-4o")],
    ["audio", chatPath, chatOf("hello", { audio: { voice: "alloy", format: "wav" } }, "gpt-4o")],
    ["inlineData", geminiPath("deaf"), generate(sung)],
    ["inlineData", geminiPath("deaf"), generate({ inlineData: { mimeType: "AUDIO/wav", data: "UklGRg==" } })],
    [
      "fileData",
      geminiPath("deaf"),
      generate({ fileData: { fileUri: "https://example.com/fox", mimeType: "Audio/ogg" } }),
    ],
    ["file", chatPath, chatOf([{ file: { file_data: "data:Audio/wav;base64,UklGRg==" } }], {}, "gpt-4o")],
    ["file", chatPath, chatOf([{ file: { url: "DATA:audio/wav;base64,UklGRg==" } }], {}, "gpt-4o")],
    [
      "generationConfig.responseModalities",
      geminiPath("deaf"),
      generate({ text: "hi" }, { responseModalities: ["AUDIO"] }),
    ],
    [
      "generationConfig.responseModalities",
      geminiPath("deaf"),
      generate({ text: "hi" }, { responseModalities: [1, 3] }),
    ],
    [
      "generationConfig.responseFormat",
      geminiPath("deaf"),
      generate({ text: "hi" }, { responseFormat: [{ text: {} }, { audio: { mimeType: "audio/wav" } }] }),
    ],
    [
      "generationConfig.response_format",
      geminiPath("deaf"),
      generate({ text: "hi" }, { response_format: { video: {} } }),
    ],
    [
      "generationConfig.speechConfig",
      geminiPath("listener"),
      generate({ text: "hi" }, { speechConfig: { voiceConfig: {} } }),
    ],
  ];
  test.each(refused)("is not sold: %s at %s", async (field, path, body) => {
    const before = vendor.asked.length;
    const response = await gateway.post(account, path, body);
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining(`"${field}: this model has no price here for audio that it `) as string,
    ]);
    expect(vendor.asked).toHaveLength(before);
  });

  test("is not what a model writes and draws, named or by number", async () => {
    for (const settings of [
      ...[["TEXT", "Image"], [1, 2], []].map((responseModalities) => ({ responseModalities })),
      ...[[{ text: {} }, { image: { imageSize: "2K" }, audio: null }], { text: {} }, []].map(
        (responseFormat) => ({ responseFormat }),
      ),
    ]) {
      const body = generate({ text: "hi" }, settings);
      const bytes = JSON.stringify(body).length;
      expect(await mostOf(geminiPath("deaf"), body)).toBe(bytes + 100 * 2);
    }
  });

  test("is charged as text and told to the operator where nobody could see it coming", async () => {
    vendor.answer = () =>
      Response.json({
        candidates: [{ content: { role: "model", parts: [{ text: "ok" }] }, finishReason: "STOP" }],
        usageMetadata: {
          promptTokenCount: 900,
          candidatesTokenCount: 5,
          promptTokensDetails: [{ modality: "AUDIO", tokenCount: 800 }],
        },
      });
    for (let calls = 0; calls < 2; calls++) {
      const receipt = await receiptOf(await gateway.post(account, geminiPath("deaf"), generate(film)));
      expect(receipt).toMatchObject({
        usage: { input_tokens: 900, output_tokens: 5 },
        charged_micros_usd: 910,
      });
    }
    const told = gateway.logged.filter((line) => line.includes("audio was used that has no price"));
    expect(told.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: "warn", upstream: "gemini", model: "deaf" },
    ]);
  });

  const unforeseen = {
    candidates: [{ content: { role: "model", parts: [{ text: "ok" }] } }],
    usageMetadata: {
      promptTokenCount: 1_000,
      cachedContentTokenCount: 300,
      candidatesTokenCount: 50,
      promptTokensDetails: [{ modality: "AUDIO", tokenCount: 800 }],
      cacheTokensDetails: [{ modality: "AUDIO", tokenCount: 250 }],
      candidatesTokensDetails: [{ modality: "AUDIO", tokenCount: 40 }],
    },
  };
  const asText = {
    usage: { input_tokens: 700, cache_read_tokens: 300, output_tokens: 50 },
    charged_micros_usd: 700 + 150 + 100,
  };

  test("is charged as the text it would have been: heard, heard from a cache, and spoken", async () => {
    vendor.answer = () => Response.json(unforeseen);
    const response = await gateway.post(account, geminiPath("deaf"), generate(film));
    expect(await receiptOf(response)).toMatchObject(asText);
  });

  test("is charged as text by the next start too, when the gateway dies in the middle of a stream", async () => {
    vendor.answer = () => begunStream(unforeseen);
    const path = geminiPath("deaf").replace(":g", ":streamG");
    expect(await receiptOfDied(gateway, account, path, generate(film))).toMatchObject({
      status: "settled",
      ...asText,
    });
  });
});
