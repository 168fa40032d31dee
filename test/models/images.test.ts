import { afterAll, describe, expect, test } from "bun:test";
import { omitted } from "../doubles/vendor-checks.ts";
import { json } from "../support/answers.ts";
import { openModelGateway, sentTo, type OpenAiError } from "../support/model-gateway.ts";

const { gateway, openai, metered, receiptOf, quoteOf, close } = await openModelGateway();
afterAll(close);

const imagesPath = "/v1/images/generations";
const aText: unknown = expect.any(String);

describe("images", () => {
  const prompt = "a red fox";

  test("are drawn by the default model when none is named, and cost the vendor's tokens", async () => {
    const account = await gateway.openAccount();
    const response = await metered({ input: 10, output: 1_056 }, () =>
      gateway.post(account, imagesPath, { prompt, quality: "medium" }),
    );
    expect(response.status).toBe(200);
    expect(await json<{ data: unknown[] }>(response)).toMatchObject({
      data: [{ b64_json: aText }],
    });
    expect(sentTo(openai)).toEqual({ prompt, quality: "medium", model: "gpt-image-2" });
    // 10 × 5 + 1,056 × 30 USD for a million.
    expect(await receiptOf(account, response)).toMatchObject({
      operation_id: "images.generate",
      usage: { input_tokens: 10, output_tokens: 1_056 },
      charged_micros_usd: 31_730,
    });
  });

  /** The vendor's own table for its first model: the most tokens an image takes. */
  const table = {
    low: { "1024x1024": 272, "1024x1536": 408, "1536x1024": 400 },
    medium: { "1024x1024": 1_056, "1024x1536": 1_584, "1536x1024": 1_568 },
    high: { "1024x1024": 4_160, "1024x1536": 6_240, "1536x1024": 6_208 },
  } as const;

  test("are drawn by the usual model when the caller names none, or null", async () => {
    const account = await gateway.openAccount();
    for (const named of [{}, { model: null }]) {
      const response = await gateway.post(account, imagesPath, { prompt, ...named });
      expect(response.status).toBe(200);
      expect(sentTo(openai)).toEqual({ prompt, model: "gpt-image-2" });
    }
  });

  test("hold what images of that size and quality can take at most, and hardly more", async () => {
    const account = await gateway.openAccount();
    const model = "gpt-image-1";
    for (const [quality, sizes] of Object.entries(table)) {
      for (const [size, tokens] of Object.entries(sizes)) {
        for (const n of [1, 3]) {
          const quote = await quoteOf(account, imagesPath, { model, prompt, quality, size, n });
          const drawn = tokens * n * 40;
          expect(quote.max_cost_micros_usd).toBeGreaterThanOrEqual(drawn);
          expect(quote.max_cost_micros_usd).toBeLessThan(drawn * 1.05 + 1_000);
        }
      }
    }
    const auto = await quoteOf(account, imagesPath, { model, prompt });
    expect(auto.max_cost_micros_usd).toBeGreaterThanOrEqual(6_240 * 40);
    expect(auto.estimated_cost_micros_usd).toBeLessThan(auto.max_cost_micros_usd);
    const named = await quoteOf(account, imagesPath, { model, prompt, size: "4K" });
    expect(named.max_cost_micros_usd).toBeGreaterThan(auto.max_cost_micros_usd);
  });

  test("hold what a later model of OpenAI's takes, which is more than the first, and no less for one of unknown name", async () => {
    const account = await gateway.openAccount();
    // By what its vendor asks for an image, at 30 USD for a million tokens.
    const later = {
      low: { "1024x1024": 200, "1024x1536": 167, "1536x1024": 167 },
      medium: { "1024x1024": 1_767, "1024x1536": 1_367, "1536x1024": 1_367 },
      high: { "1024x1024": 7_033, "1024x1536": 5_500, "1536x1024": 5_500 },
    } as const;
    for (const [quality, sizes] of Object.entries(later)) {
      for (const [size, tokens] of Object.entries(sizes)) {
        const body = { model: "gpt-image-2", prompt, quality, size };
        const { max_cost_micros_usd: most } = await quoteOf(account, imagesPath, body);
        expect(most).toBeGreaterThanOrEqual(tokens * 30);
      }
    }
    const auto = await quoteOf(account, imagesPath, { model: "gpt-image-2", prompt });
    expect(auto.max_cost_micros_usd).toBeGreaterThanOrEqual(7_033 * 30);
    for (const model of ["org/model-x", "seedream-4"]) {
      const quote = await quoteOf(account, imagesPath, { model, prompt, size: "1024x1024" });
      expect(quote.max_cost_micros_usd).toBeGreaterThanOrEqual(7_033 * 2);
    }
  });

  test("hold the highest quality of a model that is not OpenAI's, whatever is asked for", async () => {
    const account = await gateway.openAccount();
    const most = async (more: object): Promise<number> =>
      (await quoteOf(account, imagesPath, { prompt, size: "2048x2048", ...more })).max_cost_micros_usd;
    const area = 2_048 * 2_048;
    // A token for 256 pixels, at 2 USD for a million.
    for (const model of ["org/model-x", "seedream-4"])
      expect(await most({ model, quality: "low" })).toBeGreaterThanOrEqual((area / 256) * 2);
    expect(await most({ model: "gpt-image-1", quality: "low" })).toBeLessThan((area / 256) * 40);
  });

  test("hold no less than a vendor draws who passes over their size, or knows other words for it", async () => {
    const account = await gateway.openAccount();
    const most = async (more: object): Promise<number> =>
      (await quoteOf(account, imagesPath, { prompt, quality: "low", ...more })).max_cost_micros_usd;
    // The few bytes of the words themselves are held, too.
    for (const size of ["0x0", "1x1", "256x256"]) {
      for (const [model, usual] of [
        ["gpt-image-1", "1024x1024"],
        ["org/model-x", "1024x1536"],
      ]) {
        const least = await most({ model, size: usual });
        expect(await most({ model, size })).toBeWithin(least - 100, least + 1);
      }
    }
    const large = await most({ size: "4096x4096" });
    for (const word of ["width", "height", "image_size", "resolution"]) {
      expect(await most({ size: "1024x1024", [word]: 9 })).toBeGreaterThanOrEqual(large);
      expect(await most({ size: "1024x1024", [word]: null })).toBeLessThan(large / 2);
    }
    const response = await gateway.post(account, imagesPath, { prompt, Width: 4_096 });
    expect([response.status, (await json<OpenAiError>(response)).error.param]).toEqual([400, "Width"]);
  });

  test("hold every frame of one that moves, and as many as a vendor takes by itself where none are said", async () => {
    const account = await gateway.openAccount();
    const most = async (more: object): Promise<number> => {
      const body = { model: "gpt-image-2", prompt, size: "1024x1024", quality: "low", ...more };
      return (await quoteOf(account, imagesPath, body)).max_cost_micros_usd;
    };
    const still = 272 * 30;
    expect(await most({ output_format: "png" })).toBeWithin(still, still + 1_000);
    for (const [members, frames] of [
      [{ output_format: "gif" }, 9],
      [{ output_format: "GIF", n: 2 }, 18],
      [{ output_format: "gif", frame_count: 16 }, 16],
      [{ frame_count: 2 }, 2],
    ] as const)
      expect(await most(members)).toBeWithin(still * frames, still * frames + 1_000);
  });

  test.each([
    ["output_format", { output_format: "svg" }],
    ["output_format", { output_format: "SVG" }],
    ["svg", { svg: { model: "gpt-5" } }],
    ["Svg", { Svg: { model: "gpt-5" } }],
    ["frame_count", { output_format: "gif", frame_count: 1 }],
    ["frame_count", { output_format: "gif", frame_count: 17 }],
  ] as const)("are refused where they may cost more than is held: %s in %j", async (name, members) => {
    const account = await gateway.openAccount();
    const before = openai.requests.length;
    const response = await gateway.post(account, imagesPath, { prompt, ...members });
    expect([response.status, (await json<OpenAiError>(response)).error.param]).toEqual([400, name]);
    expect(openai.requests.length).toBe(before);
    const harmless = { prompt, output_format: null, frame_count: null, svg: null };
    expect(await quoteOf(account, imagesPath, harmless)).toHaveProperty("object", "cost_estimate");
  });

  test("hold a quality higher than asked of a model of OpenAI's that came later than its figures", async () => {
    const account = await gateway.openAccount();
    const most = async (model: string, quality: string): Promise<number> =>
      (await quoteOf(account, imagesPath, { model, prompt, size: "1024x1024", quality })).max_cost_micros_usd;
    for (const [quality, tokens] of [
      ["low", 1_767],
      ["medium", 7_033],
      ["high", 7_033],
      ["max", 7_033],
    ] as const)
      expect(await most("gpt-image-2.6-flare", quality)).toBeGreaterThanOrEqual(tokens * 30);
    for (const model of ["gpt-image-2", "gpt-image-2.5-flare-2026-09-08"])
      expect(await most(model, "low")).toBeLessThan(300 * 30);
  });

  const multiplied: readonly (readonly [name: string, members: object])[] = [
    ["sequential_image_generation", { sequential_image_generation: "auto" }],
    ["sequential_image_generation_options", { sequential_image_generation_options: { max_images: 15 } }],
    ["max_images", { max_images: 15 }],
    ["num_images", { n: 2, num_images: 3 }],
    ["Batch_Size", { Batch_Size: 4 }],
    ["batch_size", { batch_size: "4" }],
  ];
  test.each(multiplied)("are as many as n says, and no word beside it: %s", async (name, members) => {
    const account = await gateway.openAccount();
    const before = openai.requests.length;
    const response = await gateway.post(account, imagesPath, { prompt, ...members });
    expect([response.status, (await json<OpenAiError>(response)).error.param]).toEqual([400, name]);
    expect(openai.requests.length).toBe(before);
    const same = { prompt, n: 2, num_images: 2, sequential_image_generation: "disabled", batch_size: null };
    expect(await quoteOf(account, imagesPath, same)).toHaveProperty("object", "cost_estimate");
  });

  test("without a word about usage are metered as expected; without an image they cost nothing", async () => {
    const account = await gateway.openAccount();
    const body = { prompt, size: "1024x1024", quality: "low" };
    const silent = await metered(omitted, () => gateway.post(account, imagesPath, body));
    const { usage: used, usage_source: source } = await receiptOf(account, silent);
    expect(source).toBe("estimated");
    expect(used["output_tokens"]).toBeWithin(272, 280);
    openai.answerNext({ status: 200, headers: { "Content-Type": "application/json" }, body: '{"data":[]}' });
    const empty = await gateway.post(account, imagesPath, body);
    expect(await receiptOf(account, empty)).toMatchObject({ outcome: "failed", charged_micros_usd: 0 });
  });

  test("are not streamed, and not more than ten at once", async () => {
    const account = await gateway.openAccount();
    for (const [body, param] of [
      [{ prompt, stream: true }, "stream"],
      [{ prompt, n: 11 }, "n"],
      [{ prompt: "" }, "prompt"],
      [{}, "prompt"],
    ] as const) {
      const response = await gateway.post(account, imagesPath, body);
      expect([response.status, (await json<OpenAiError>(response)).error.param]).toEqual([400, param]);
    }
  });

  test("are limited to 30 a minute for a key, beside its other calls", async () => {
    const account = await gateway.openAccount();
    for (let calls = 0; calls < 30; calls++) await quoteOf(account, imagesPath, { prompt });
    const response = await gateway.post(account, imagesPath, { prompt });
    expect([response.status, (await json<OpenAiError>(response)).error.code]).toEqual([
      429,
      "rate_limit_exceeded",
    ]);
    expect(response.headers.get("x-ratelimit-limit-requests")).toBe("30");
    expect((await gateway.call(account, "/v1/models")).status).toBe(200);
  });

  test("occupy a slot of the key while they are drawn", async () => {
    const account = await gateway.openAccount({ tier: "starter" });
    openai.answerNext({ kind: "slow", chunkBytes: 64, everyMs: 60 });
    const before = openai.requests.length;
    const running = gateway.post(account, imagesPath, { prompt });
    while (openai.requests.length === before) await Bun.sleep(5);
    const second = await gateway.post(account, imagesPath, { prompt });
    expect([second.status, (await json<OpenAiError>(second)).error.code]).toEqual([429, "quota_exceeded"]);
    expect((await running).status).toBe(200);
    expect((await gateway.post(account, imagesPath, { prompt })).status).toBe(200);
  });
});
