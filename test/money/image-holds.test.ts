// What images in a conversation hold: the most that one comes to, or all that the model can read where it may be more.

import { describe, expect, test } from "bun:test";
import {
  bytesOf,
  completions,
  generate,
  heard,
  holdFor,
  imageTokensMax,
  messages,
  picture,
  png,
  responses,
  useConversations,
  type Spoken,
} from "./conversations.ts";

const { stated, gateway, account, receiptOf, mostOf } = await useConversations();

describe("an image, in the body or at an address, holds the most that an image comes to", () => {
  const images: readonly (readonly [string, Spoken, object])[] = [
    ["OpenAI", completions, { type: "image_url", image_url: { url: `data:image/png;base64,${png}` } }],
    [
      "Anthropic",
      messages,
      { type: "image", source: { type: "base64", media_type: "image/png", data: png } },
    ],
    ["OpenAI, at an address", completions, { type: "image_url", image_url: { url: picture } }],
    ["OpenAI, at a bare address", completions, { type: "image_url", image_url: picture }],
    ["OpenAI, one in a list", completions, { type: "image_url", image_url: [picture] }],
    ["Responses, at an address", responses, { type: "input_image", image_url: picture }],
    ["Anthropic, at an address", messages, { type: "image", source: { type: "url", url: picture } }],
    ["Anthropic, in a file", messages, { type: "image", source: { type: "file", file_id: "file_1" } }],
    [
      "Anthropic, in a document",
      messages,
      {
        type: "document",
        source: { type: "content", content: [{ type: "image", source: { type: "url", url: picture } }] },
      },
    ],
    ["Gemini", generate, { inlineData: { mimeType: "image/png", data: png } }],
    ["Gemini in other letters", generate, { inlineData: { mimeType: "Image/PNG", data: png } }],
    ["Gemini in snake_case", generate, { inline_data: { mime_type: "image/png", data: png } }],
    ["Responses", responses, { type: "input_image", image_url: `data:image/png;base64,${png}` }],
  ];
  test.each(images)("in the words of %s", async (_, spoken, image) => {
    const body = spoken.body([image]);
    const most = await mostOf(spoken.path, body);
    expect(most).toBeLessThanOrEqual(holdFor(bytesOf(body) + imageTokensMax, spoken));
    expect(most).toBeGreaterThanOrEqual(holdFor(imageTokensMax, spoken));
    const many = spoken.body(Array.from({ length: 30 }, () => image));
    const all = Math.min(spoken.contextTokens, bytesOf(many) + 30 * imageTokensMax);
    expect(await mostOf(spoken.path, many)).toBeLessThanOrEqual(holdFor(all, spoken));
  });

  test.each(["gpt-4o", "gemini-2.5-flash"])(
    "as the item in which a model drew it, too: %s",
    async (model) => {
      const drawing = { type: "image_generation_call", id: "ig_1", status: "completed", result: png };
      const said = { role: "user", content: "Say it." };
      const body = responses.body([], { model, input: [said, drawing, said] });
      const spoken = model === "gpt-4o" ? responses : generate;
      const most = await mostOf(responses.path, body);
      expect(most).toBeGreaterThanOrEqual(holdFor(imageTokensMax, spoken));
      expect(most).toBeLessThanOrEqual(holdFor(bytesOf(body) + imageTokensMax, spoken));
    },
  );

  test("so that a small one is paid for in full", async () => {
    stated.usage = { input: 1_445, output: 5 };
    const image = { type: "image_url", image_url: { url: `data:image/png;base64,${png}` } };
    const response = await gateway.post(account, completions.path, completions.body([image]));
    stated.usage = undefined;
    expect((await receiptOf(response)).charged_micros_usd).toBe(Math.floor(1_445 * 2.5 + 5 * 10));
  });

  test("so that two dollars are enough for a large one, with every model", async () => {
    const data = "A".repeat(1_400_000);
    const inline = { type: "image", source: { type: "base64", media_type: "image/png", data } };
    const large: readonly (readonly [Spoken, object])[] = [
      [
        completions,
        completions.body([{ type: "image_url", image_url: { url: `data:image/png;base64,${data}` } }]),
      ],
      [messages, messages.body([inline])],
      [messages, messages.body([inline], { model: "claude-opus-4-5", max_tokens: 8_000 })],
      [generate, generate.body([{ inlineData: { mimeType: "image/png", data } }])],
    ];
    for (const [{ path }, body] of large) {
      const caller = await gateway.openAccount();
      expect((await gateway.post(caller, path, body)).status).toBe(200);
    }
  });
});

describe("an image at an address, translated for Gemini, which reads there whatever it finds", () => {
  const toGemini: readonly (readonly [string, (url: string) => object])[] = [
    [
      completions.path,
      (url) => completions.body([{ type: "image_url", image_url: { url } }], { model: "gemini-2.5-flash" }),
    ],
    [
      messages.path,
      (url) =>
        messages.body([{ type: "image", source: { type: "url", url } }], { model: "gemini-2.5-flash" }),
    ],
  ];

  test.each(toGemini)("holds one image where its name says so: %s", async (path, asking) => {
    const most = await mostOf(path, asking(`${picture}?size=large`));
    expect(most).toBeGreaterThanOrEqual(holdFor(imageTokensMax, generate));
    expect(most).toBeLessThanOrEqual(holdFor(imageTokensMax + 1_000, generate));
  });

  const others: readonly (readonly [string, Spoken])[] = [
    ["https://example.com/a.pdf", generate],
    ["https://example.com/film.mp4", heard],
    ["https://example.com/whatever?name=fox.png", heard],
    ["https://www.youtube.com/watch?v=1", heard],
    ["https://youtu.be/1/fox.png", heard],
    ["https://youtu.be:443/1/fox.png", heard],
    ["https://you@www.youtube.com./fox.png", heard],
  ];
  test.each(others)("holds all that the model can read or hear where it may be more: %s", async (url, as) => {
    for (const [path, asking] of toGemini) {
      expect([path, await mostOf(path, asking(url))]).toEqual([path, holdFor(1_048_576, as)]);
    }
  });

  test("is paid for in full when it was a film", async () => {
    for (const [path, asking] of toGemini) {
      stated.usage = { input: 900_000, output: 5 };
      const caller = await gateway.openAccount();
      const response = await gateway.post(caller, path, asking("https://www.youtube.com/watch?v=1"));
      stated.usage = undefined;
      expect(await gateway.receipt(caller, response)).toMatchObject({
        usage: { input_tokens: 900_000, output_tokens: 5 },
        charged_micros_usd: 900_000 * 0.3 + Math.floor(5 * 2.5),
      });
    }
  });
});
