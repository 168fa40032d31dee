// What an agent gets for what it bought: whole where it fits, shortened and said so where not, and nothing lost of it.

import { describe, expect, test } from "bun:test";
import { askModern, useTool } from "./agent-client.ts";
import { snapshotOrder, usePurchases } from "./agent-purchases.ts";
import { expectNothingHappened } from "../bad-inputs/nothing-happened.ts";

const { gateway, account, mcp, use, spent } = await usePurchases();

describe("what a call answers", () => {
  test("a long result is shortened to 64 KiB, says where, and keeps its shape", async () => {
    const long = {
      snapshot: { ticker: "AAPL", note: "é".repeat(100_000), emoji: `a${"😀".repeat(50_000)}` },
      rows: Array.from({ length: 5_000 }, (_, n) => ({ n, id: `row ${n}`, worth: n / 7 })),
      last: true,
    };
    await gateway.sandbox.fault({
      vendor: "financialdatasets",
      status: 200,
      body: JSON.stringify(long),
    });
    const { structuredContent, content } = await use(snapshotOrder(0.1));
    expect(structuredContent["truncated"]).toBe(true);
    const result = structuredContent["result"] as typeof long;
    const bytes = Buffer.byteLength(JSON.stringify(result));
    expect(bytes).toBeLessThanOrEqual(64 * 1024);
    expect(bytes).toBeGreaterThan(60 * 1024);
    expect(result).toMatchObject({ snapshot: { ticker: "AAPL" }, last: true });
    const { note, emoji } = result.snapshot;
    expect(note).toMatch(/^é{7000,}… \(shortened\)$/);
    expect(emoji).toMatch(/^a(?:😀){2500,}… \(shortened\)$/u);
    expect(result.rows.slice(0, 400)).toEqual(long.rows.slice(0, 400));
    expect<unknown>(result.rows.at(-1)).toBe(`… and ${5_001 - result.rows.length} more`);
    expect(JSON.parse(content[0]?.text ?? "")).toEqual(structuredContent);
  });

  test("an object of very many members keeps the first of them, and a list in a list a part", async () => {
    const members = Object.fromEntries(
      Array.from({ length: 10_000 }, (_, n) => [`member_${n}`, "x".repeat(n)]),
    );
    for (const body of [{ members }, { a: [[Array.from({ length: 50_000 }, () => 0.1)]] }]) {
      await gateway.sandbox.fault({ vendor: "financialdatasets", status: 200, body: JSON.stringify(body) });
      const { structuredContent } = await use(snapshotOrder(0.1));
      const written = JSON.stringify(structuredContent["result"]);
      expect(Buffer.byteLength(written)).toBeLessThanOrEqual(64 * 1024);
      expect(written.length).toBeGreaterThan(30 * 1024);
      expect(written).toContain("more");
    }
  });

  test("generated images come as images, and a note stands in their place", async () => {
    const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk";
    const large = png + "A".repeat(400_000);
    const answer = {
      created: 1,
      data: [{ b64_json: large, revised_prompt: "a boat" }, { b64_json: "no image" }, { b64_json: large }],
      usage: { input_tokens: 5, output_tokens: 100, total_tokens: 105 },
    };
    await gateway.sandbox.fault({ vendor: "openai", status: 200, body: JSON.stringify(answer) });
    const { structuredContent, content } = await use({
      operation_id: "images.generate",
      arguments: { prompt: "a boat", n: 3 },
      max_price_usd: 3,
    });
    expect(structuredContent).toMatchObject({
      status: "completed",
      result: {
        created: 1,
        data: [
          { b64_json: "(image 1 of this answer's content)", revised_prompt: "a boat" },
          { b64_json: "no image" },
          { b64_json: "(image 2 of this answer's content)" },
        ],
      },
    });
    expect(structuredContent["truncated"]).toBeUndefined();
    expect(JSON.parse(content[0]?.text ?? "")).toEqual(structuredContent);
    const image = { type: "image", data: large, mimeType: "image/png" };
    expect(content.slice(1) as unknown[]).toEqual([image, image]);
  });

  test("an image that a model drew in a conversation comes as an image, in whatever dialect it was asked", async () => {
    const drawn = `iVBORw0KGgoA${"A".repeat(200_000)}`;
    const parts = [{ text: "Here:" }, { inlineData: { mimeType: "image/png", data: drawn } }];
    const body = JSON.stringify({
      candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 100, totalTokenCount: 105 },
    });
    const model = "gemini-2.5-flash";
    const messages = [{ role: "user", content: "draw a boat" }];
    const note = "(image 1 of this answer's content)";
    for (const [operationId, given, shown] of [
      [
        "models.generate_content",
        { contents: [{ role: "user", parts: [{ text: "draw a boat" }] }] },
        { candidates: [{ content: { parts: [{ text: "Here:" }, { inlineData: { data: note } }] } }] },
      ],
      [
        "chat.completions.create",
        { messages },
        { choices: [{ message: { content: "Here:", images: [{ image_url: { url: note } }] } }] },
      ],
      [
        "messages.create",
        { messages, max_tokens: 500 },
        { content: [{ text: "Here:" }, { text: `![image](${note})` }] },
      ],
    ] as const) {
      await gateway.sandbox.fault({ vendor: "gemini", status: 200, body });
      const { structuredContent, content } = await use({
        operation_id: operationId,
        arguments: { model, ...given },
        max_price_usd: 1,
      });
      expect(structuredContent).toMatchObject({ status: "completed", result: shown });
      expect(structuredContent["truncated"]).toBeUndefined();
      expect(content.slice(1) as unknown[]).toEqual([{ type: "image", data: drawn, mimeType: "image/png" }]);
    }
  });

  test("how long a result may be is told before anything is spent", async () => {
    const details = await useTool(mcp, account.key, "get_details", { operation_id: "embeddings.create" });
    expect(details.structuredContent["limits"]).toMatchObject({ result_bytes_max: 65_536 });
  });

  test("what is not JSON is text", async () => {
    await gateway.sandbox.fault({
      vendor: "financialdatasets",
      status: 502,
      body: "<h1>Bad gateway</h1>",
      content_type: "text/html",
    });
    expect((await use(snapshotOrder(0.1))).structuredContent).toMatchObject({
      status: "failed",
      content_type: "text/html",
      result: { text: "<h1>Bad gateway</h1>" },
    });
  });

  test("a result nested deeper than 500 is text, so that nobody waits while it is written again", async () => {
    const nested = (depth: number): string => `{"snapshot":${"[".repeat(depth)}"]"${"]".repeat(depth)}}`;
    for (const depth of [100, 499, 500, 30_000]) {
      const body = nested(depth);
      await gateway.sandbox.fault({ vendor: "financialdatasets", status: 200, body });
      const { structuredContent } = await use(snapshotOrder(0.1));
      expect(structuredContent["status"]).toBe("completed");
      const { text } = structuredContent["result"] as { text?: string };
      expect([depth, text]).toEqual([depth, depth < 500 ? undefined : body]);
    }
  });

  test("an id too long for a number is refused before anything is held, and passes as a string", async () => {
    const id = "1801000000000000102";
    const quotes = (args: object) => ({
      operation_id: "social_a.tweet.quotes",
      arguments: args,
      max_price_usd: 0.1,
    });
    await expectNothingHappened(gateway, async () => {
      for (const [args, field] of [
        [{ tweetId: Number(id) }, "tweetId"],
        [{ tweetId: "1", more: { ids: [1, -Number(id)] } }, "more.ids.1"],
        [{ tweetId: 2 ** 53 }, "tweetId"],
      ] as const) {
        const { structuredContent } = await use(quotes(args));
        expect(structuredContent).toMatchObject({
          status: "refused",
          error: {
            code: "invalid_arguments",
            message: `${field}: too large to stay exact as a number; send it as a string. Nothing was charged.`,
          },
        });
      }
    });
    for (const tweetId of [id, 2 ** 53 - 1]) {
      expect((await use(quotes({ tweetId }))).structuredContent["status"]).toBe("completed");
      expect((await gateway.sandbox.book()).at(-1)?.query).toContain(`tweetId=${tweetId}`);
    }
  });

  test("whole numbers that a program could not hold come as strings, exactly as the vendor wrote them", async () => {
    const body = `{"snapshot":{"uid":7123456789012345678,"ids":[-9007199254740993,9007199254740991],"price":1.5,"supply":1e18}}`;
    await gateway.sandbox.fault({ vendor: "financialdatasets", status: 200, body });
    const { structuredContent, content } = await use(snapshotOrder(0.1));
    expect(structuredContent["result"]).toEqual({
      snapshot: {
        uid: "7123456789012345678",
        ids: ["-9007199254740993", 9_007_199_254_740_991],
        price: 1.5,
        supply: 1e18,
      },
    });
    expect(JSON.parse(content[0]?.text ?? "")).toEqual(structuredContent);
  });

  test("a streamed answer is collected, and its price is known", async () => {
    const { structuredContent } = await use({
      operation_id: "chat.completions.create",
      arguments: {
        model: "gpt-4o",
        stream: true,
        max_tokens: 50,
        messages: [{ role: "user", content: "hi" }],
      },
      max_price_usd: 0.1,
    });
    expect(structuredContent["status"]).toBe("completed");
    expect(structuredContent["content_type"]).toStartWith("text/event-stream");
    expect(JSON.stringify(structuredContent["result"])).toContain("[DONE]");
    expect(structuredContent["settled_micros_usd"]).toBe(await spent());
    expect(await spent()).toBeGreaterThan(0);
  });

  test("one that takes long reports progress to whoever asked for it, in growing figures", async () => {
    await gateway.sandbox.fault({ vendor: "financialdatasets", latency_ms: 6_500 });
    const { before, message } = await askModern(
      mcp,
      account.key,
      "tools/call",
      { name: "use", arguments: snapshotOrder(0.1) },
      { meta: { progressToken: "mine" } },
    );
    expect(message.result?.["structuredContent"]).toMatchObject({ status: "completed" });
    const reported = before.filter(({ method }) => method === "notifications/progress");
    expect(reported.map(({ params }) => [params?.["progressToken"], params?.["progress"]])).toEqual([
      ["mine", 3],
      ["mine", 6],
    ]);
  });
});
