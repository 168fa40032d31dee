import { afterAll, describe, expect, test } from "bun:test";
import { describeGap } from "../../gateway/src/offer/advice/gap.ts";
import { omitted } from "../doubles/vendor-checks.ts";
import { last } from "../doubles/vendor-double.ts";
import { json } from "../support/answers.ts";
import { openModelGateway, type OpenAiError } from "../support/model-gateway.ts";

const { gateway, openai, metered, receiptOf, quoteOf, close } = await openModelGateway();
afterAll(close);

const embeddingsPath = "/v1/embeddings";

describe("embeddings", () => {
  const model = "text-embedding-3-small";

  test.each([
    ["a text", "the quick fox"],
    ["texts", ["the quick fox", "ein Fuchs läuft"]],
    ["tokens", [1, 22, 333]],
    ["lists of tokens", [[1, 22], [333]]],
  ])("of %s pass to the byte and cost the vendor's tokens", async (_what, input) => {
    const account = await gateway.openAccount();
    const body = JSON.stringify({ model, input, encoding_format: "float", user: "u" });
    const response = await metered({ input: 9 }, () => gateway.post(account, embeddingsPath, body));
    expect(response.status).toBe(200);
    const answer = await json<{ data: unknown[]; usage: object }>(response);
    expect(answer.usage).toEqual({ prompt_tokens: 9, total_tokens: 9 });
    expect(new TextDecoder().decode(last(openai).body)).toBe(body);
    expect(last(openai).target).toBe("/v1/embeddings");
    const receipt = await receiptOf(account, response);
    expect(receipt).toMatchObject({
      operation_id: "embeddings.create",
      status: "settled",
      usage: { input_tokens: 9 },
      usage_source: "provider",
    });
    expect(openai.book.at(-1)?.billed.tokens.input).toBe(9);
  });

  test("cost list price × tokens, to the micro", async () => {
    const account = await gateway.openAccount();
    const response = await metered({ input: 1_000_000 }, () =>
      gateway.post(account, embeddingsPath, { model, input: "x".repeat(1_000_000) }),
    );
    expect((await receiptOf(account, response)).charged_micros_usd).toBe(20_000);
    expect(response.headers.get("x-tollgate-cost-micros-usd")).toBe("20000");
  });

  test("hold a token for every byte of the body, and no call costs more than that", async () => {
    const account = await gateway.openAccount();
    const body = { model, input: "x".repeat(2_000_000 - 48) };
    const bytes = Buffer.byteLength(JSON.stringify(body));
    const quote = await quoteOf(account, embeddingsPath, body);
    expect(quote.max_cost_micros_usd).toBe(Math.ceil(bytes * 0.02));
    const response = await metered({ input: 5_000_000 }, () => gateway.post(account, embeddingsPath, body));
    const receipt = await receiptOf(account, response);
    expect(receipt.charged_micros_usd).toBe(receipt.held_micros_usd);
    expect(receipt.usage_value_micros_usd).toBe(100_000);
  });

  test("of a vendor that reports a total alone, or nothing, are metered all the same", async () => {
    const account = await gateway.openAccount();
    const ask = () => gateway.post(account, embeddingsPath, { model, input: "x".repeat(400) });
    const total = await metered({ total_tokens: 77 }, ask);
    expect(await receiptOf(account, total)).toMatchObject({ usage: { input_tokens: 77 } });
    const silent = await metered(omitted, ask);
    expect(await receiptOf(account, silent)).toMatchObject({
      usage: { input_tokens: 100 },
      usage_source: "estimated",
    });
    const negative = await metered({ prompt_tokens: -5, total_tokens: -5 }, ask);
    expect(await receiptOf(account, negative)).toMatchObject({
      usage: { input_tokens: 0 },
      charged_micros_usd: 0,
    });
    expect(gateway.logged.some((line) => line.includes("prompt_tokens is negative"))).toBe(true);
  });

  test("are refused by the member that is wrong, before anything is held", async () => {
    const account = await gateway.openAccount();
    const before = openai.requests.length;
    for (const [body, param] of [
      [{ input: "a" }, "model"],
      [{ model }, "input"],
      [{ model, input: "" }, "input"],
      [{ model, input: [] }, "input"],
      [{ model, input: [1, "a"] }, "input"],
      [{ model, input: Array.from({ length: 2_049 }, () => "a") }, "input"],
      [{ model, input: "a", dimensions: 0 }, "dimensions"],
    ] as const) {
      const response = await gateway.post(account, embeddingsPath, body);
      const { error } = await json<OpenAiError>(response);
      expect([response.status, error.code, error.param?.split(".")[0]]).toEqual([
        400,
        "invalid_parameters",
        param,
      ]);
    }
    expect(openai.requests.length).toBe(before);
  });

  test("take all the tokens that OpenAI reads in one request, in one list or in many", async () => {
    const account = await gateway.openAccount({ creditUsd: "50", tier: "enterprise" });
    const list = (length: number): number[] => Array.from({ length }, (_, at) => at % 100_000);
    for (const input of [
      list(120_000),
      Array.from({ length: 2_048 }, () => list(146)),
      Array.from({ length: 36 }, () => list(8_192)),
    ]) {
      const body = JSON.stringify({ model, input });
      const response = await metered({ input: 9 }, () => gateway.post(account, embeddingsPath, body));
      expect(response.status).toBe(200);
      expect(Buffer.from(last(openai).body).equals(Buffer.from(body))).toBe(true);
    }
  });

  test("of more tokens than that, or of one that is none, are refused by name", async () => {
    const account = await gateway.openAccount({ creditUsd: "50" });
    const before = openai.requests.length;
    const list = (length: number, end: unknown = 7): unknown[] => [...Array<number>(length - 1).fill(7), end];
    for (const [input, param, why] of [
      [list(300_001), "input", "at most 300000 tokens"],
      [Array.from({ length: 36 }, () => list(8_400)), "input.35", "at most 300000 tokens"],
      [list(290_000, 1.5), "input.289999", "expected a token"],
      [list(290_000, "a"), "input.289999", "expected a token"],
      [[...list(290_000, -1)].reverse(), "input.0", "expected a token"],
      [[list(8_000), list(8_000, null)], "input.1.7999", "expected a token"],
      [[list(8_000), "text"], "input.1", "all of one kind"],
      [["text", ...list(2_000)], "input.1", "expected a text"],
      [Array(2_049).fill([1]), "input", "at most 2048 inputs"],
      [[[1], []], "input.1", "must not be empty"],
      [{ text: "a" }, "input", "expected a text"],
    ] as const) {
      const response = await gateway.post(account, embeddingsPath, { model, input });
      const { error } = await json<OpenAiError>(response);
      expect([response.status, error.param]).toEqual([400, param]);
      expect(error.message).toContain(why);
    }
    const crowded = await gateway.post(account, embeddingsPath, {
      model,
      input: "a",
      more: list(400_000),
    });
    expect(crowded.status).toBe(400);
    expect(openai.requests.length).toBe(before);
  });

  test("are looked through in a time that grows with them only, and no longer where all of it is wrong", async () => {
    const account = await gateway.openAccount({ creditUsd: "50" });
    const took = async (input: unknown): Promise<number> => {
      const startedMs = performance.now();
      const response = await gateway.post(account, embeddingsPath, { model, input });
      expect(response.status).toBe(400);
      return performance.now() - startedMs;
    };
    const nulls = Array<null>(290_000).fill(null);
    await took(nulls.slice(0, 90_000));
    // A list of what is wrong with each would take seconds, and hundreds of megabytes.
    expect(await took([1, ...nulls])).toBeLessThan(1_000);
    expect(await took([[1], ...Array.from({ length: 2_000 }, () => nulls.slice(0, 140))])).toBeLessThan(
      1_000,
    );
  });

  test("know only models for embeddings; one of the operator's own needs no price for output", async () => {
    const account = await gateway.openAccount();
    const wrong = await gateway.post(account, embeddingsPath, { model: "gpt-4o", input: "a" });
    expect([wrong.status, (await json<OpenAiError>(wrong)).error.code]).toEqual([404, "model_not_found"]);
    expect((await gateway.post(account, embeddingsPath, { model: "own-embedder", input: "a" })).status).toBe(
      200,
    );
    const chat = { model: "own-embedder", messages: [{ role: "user", content: "a" }] };
    expect((await gateway.post(account, "/v1/chat/completions", chat)).status).toBe(404);
    expect(
      gateway.gateway
        .offer()
        .gaps.map(describeGap)
        .filter((gap) => gap.includes("own-embedder")),
    ).toEqual([]);
  });

  test("keep the vendor's own error, and cost nothing then", async () => {
    const account = await gateway.openAccount();
    const body = '{"error":{"message":"too long","type":"invalid_request_error","param":null,"code":null}}';
    openai.answerNext({ status: 400, headers: { "Content-Type": "application/json" }, body });
    const response = await gateway.post(account, embeddingsPath, { model, input: "a" });
    expect([response.status, await response.text()]).toEqual([400, body]);
    expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
  });
});
