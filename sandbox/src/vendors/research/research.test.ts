import { describe, expect, test } from "bun:test";
import {
  anyNumber,
  anyString,
  at,
  containing,
  createTestSandbox,
  eventsIn,
  matching,
} from "../../test-sandbox.ts";

const query = "How fast do glaciers move?";

describe("perplexity agent", () => {
  const path = "/perplexity/v1/agent";

  test("answers with sources and says what it cost, which is what it bills", async () => {
    const { ask, book } = createTestSandbox();
    const { status, json } = await ask("POST", path, { body: { preset: "high", input: query } });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      id: matching(/^resp_/),
      status: "completed",
      output: [
        {
          type: "search_results",
          results: [{ id: 1, url: matching(/^https:\/\/\w+\.example\//) }, ...filler(14)],
        },
        { type: "message", content: [{ type: "output_text", text: containing("[15]") }] },
      ],
    });
    const { input_tokens: input = 0, output_tokens: output = 0 } = book.read().entries[0]?.billed ?? {};
    const micros = input * 2 + output * 8 + 5 * 5000;
    expect(at(json, "usage")).toMatchObject({
      input_tokens: input,
      output_tokens: output,
      cost: { total_cost: micros / 1e6, currency: "USD" },
    });
    expect(book.read().entries[0]?.billed).toMatchObject({ searches: 5, cost_micros_usd: micros });

    const again = await createTestSandbox().ask("POST", path, { body: { preset: "high", input: query } });
    expect(again.json).toEqual(json);
  });

  test("streams without names of events, and ends with usage", async () => {
    const { ask, book } = createTestSandbox();
    const input = [{ role: "user", content: query }];
    const { text } = await ask("POST", path, { body: { model: "perplexity/sonar", input, stream: true } });
    const events = eventsIn(text);
    expect(events.every(({ event }) => event === undefined)).toBe(true);
    expect(events.map(({ data }) => at(data, "sequence_number"))).toEqual(events.map((_, n) => n));
    expect(events.at(-1)?.data).toMatchObject({
      type: "response.completed",
      response: { usage: { output_tokens: book.read().entries[0]?.billed?.["output_tokens"] } },
    });
  });

  test("refuses what it does not know, and names it", async () => {
    const { ask } = createTestSandbox();
    expect(await ask("POST", path, { body: { preset: "high", input: query, query } })).toMatchObject({
      status: 400,
      json: {
        error: {
          message: 'invalid request body: json: unknown field "query"',
          type: "invalid_request",
          code: 400,
          param: "query",
        },
      },
    });
    for (const [body, param] of [
      [{ input: query }, "model"],
      [{ preset: "high" }, "input"],
      [{ preset: "best", input: query }, "preset"],
      [{ preset: "high", input: query, max_output_tokens: 0 }, "max_output_tokens"],
    ] as const) {
      expect(await ask("POST", path, { body })).toMatchObject({ status: 400, json: { error: { param } } });
    }
    expect((await ask("POST", path, { headers: {}, body: {} })).status).toBe(401);
    expect((await ask("POST", "/perplexity/chat/completions", { body: {} })).status).toBe(404);
  });
});

describe("tavily search", () => {
  const path = "/tavily/search";

  test("bills credits by depth, and tells them only when asked", async () => {
    const { ask, book } = createTestSandbox();
    const silent = await ask("POST", path, { body: { query, max_results: 2 } });
    expect(silent.json).toMatchObject({
      query,
      answer: null,
      results: [
        { title: anyString, url: anyString, content: anyString, score: anyNumber, raw_content: null },
        {},
      ],
    });
    expect(silent.json).not.toHaveProperty("usage");
    const told = await ask("POST", path, {
      body: { query, search_depth: "advanced", include_answer: true, include_usage: true },
    });
    expect(told.json).toMatchObject({ answer: containing(query), usage: { credits: 2 } });
    expect(book.read().entries.map(({ billed }) => billed)).toEqual([{ credits: 1 }, { credits: 2 }]);
  });

  test.each([
    [{}, 400],
    [{ query, search_depth: "deepest" }, 400],
    [{ query, max_results: 21 }, 400],
  ])("refuses %j", async (body, status) => {
    expect(await createTestSandbox().ask("POST", path, { body })).toMatchObject({
      status,
      json: { detail: { error: anyString } },
    });
  });

  test("asks for a bearer", async () => {
    const { status } = await createTestSandbox().ask("POST", path, { headers: {}, body: { query } });
    expect(status).toBe(401);
  });
});

describe("exa search", () => {
  const path = "/exa/search";

  test("says what it cost, which is what it bills", async () => {
    const { ask, book } = createTestSandbox();
    const plain = await ask("POST", path, { body: { query } });
    expect(plain.json).toMatchObject({
      requestId: anyString,
      resolvedSearchType: "neural",
      results: filler(10).map(() => ({ id: anyString, title: anyString, url: anyString })),
      costDollars: { total: 0.007 },
    });
    const asked = { query, type: "deep-reasoning", numResults: 12, contents: { text: true } };
    const deep = await ask("POST", path, { body: { ...asked, outputSchema: { type: "text" } } });
    expect(deep.json).toMatchObject({
      output: { content: containing(query), grounding: [{ citations: filler(12) }] },
      costDollars: { total: 0.017 },
    });
    expect(at(deep.json, "results", 0)).toHaveProperty("text");
    expect(book.read().entries.map(({ billed }) => billed?.["cost_micros_usd"])).toEqual([7000, 17_000]);
  });

  test("gives an answer only where its shape is asked for", async () => {
    const { ask } = createTestSandbox();
    const deep = { query, type: "deep-reasoning" };
    const silent = await ask("POST", path, { body: deep });
    expect(silent.json).not.toHaveProperty("output");
    const spoken = await ask("POST", path, { body: { ...deep, outputSchema: { type: "text" } } });
    expect(spoken.json).toHaveProperty("output.content", containing(query));
  });

  test("refuses in its own shape", async () => {
    const { ask } = createTestSandbox();
    for (const body of [{}, { query, type: "psychic" }, { query, numResults: 0 }])
      expect(await ask("POST", path, { body })).toMatchObject({ status: 400, json: { error: anyString } });
    expect((await ask("POST", path, { headers: {}, body: { query } })).status).toBe(401);
  });
});

function filler(count: number): object[] {
  return Array.from({ length: count }, () => ({}));
}
