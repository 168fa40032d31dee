// The doubles of deep research, as their vendors describe them.

import { describe, expect, test } from "bun:test";

import { openExaDouble } from "./exa.ts";
import { createKeeper, dataOf, get, post, refusalOf } from "./exchange.ts";
import { openPerplexityDouble } from "./perplexity.ts";
import { openTavilyDouble } from "./tavily.ts";
import { omitted } from "./vendor-checks.ts";

const keep = createKeeper();

describe("perplexity", () => {
  const ask = { preset: "high", input: "why are foxes quick?", instructions: "be brief" };

  test.each(["agent", "responses"])("/v1/%s answers with sources and its cost", async (path) => {
    const vendor = await keep(openPerplexityDouble({ key: "k-1" }));
    const answer: unknown = await (await post(`${vendor.url}/v1/${path}`, ask)).json();
    expect(answer).toMatchObject({
      id: "resp_000000000001",
      object: "response",
      status: "completed",
      output: [
        { type: "search_results", results: [{ url: "https://example.com/quick" }, {}] },
        { type: "message", content: [{ type: "output_text" }] },
      ],
      usage: { cost: { currency: "USD" } },
    });
    const { usage } = answer as { usage: { cost: Record<string, number> } };
    expect(vendor.book[0]).toMatchObject({
      requestId: "resp_000000000001",
      billed: { model: "perplexity/sonar", usage },
    });
    expect(Number(vendor.book[0]?.billed.usd)).toBe(usage.cost["total_cost"] ?? NaN);
  });

  test("streams numbered data without names or an end marker; leaving early saves nothing", async () => {
    const vendor = await keep(openPerplexityDouble({ key: "k-1" }));
    const text = await (await post(`${vendor.url}/v1/agent`, { ...ask, stream: true })).text();
    expect(text).not.toMatch(/^event:|\[DONE\]/m);
    const events = dataOf(text) as { type: string; sequence_number: number }[];
    expect(events.map(({ sequence_number: at }) => at)).toEqual(events.map((_, index) => index));
    expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { usage: { cost: {} } } });

    vendor.answerNext({ kind: "stream", fault: "end", afterEvents: 2 });
    expect(
      dataOf(await (await post(`${vendor.url}/v1/agent`, { ...ask, stream: true })).text()),
    ).toHaveLength(2);
    expect(vendor.book[1]?.billed).toEqual(
      vendor.book[0]?.billed as NonNullable<(typeof vendor.book)[0]>["billed"],
    );
  });

  test("in the background it is polled; a failure is a 200 that costs nothing", async () => {
    const vendor = await keep(openPerplexityDouble({ key: "k-1" }));
    const queued: unknown = await (await post(`${vendor.url}/v1/agent`, { ...ask, background: true })).json();
    expect(queued).toMatchObject({ status: "queued", output: [] });
    const url = `${vendor.url}/v1/responses/${(queued as { id: string }).id}`;
    expect(await (await get(url)).json()).toMatchObject({ status: "in_progress" });
    expect(await (await get(url)).json()).toMatchObject({ status: "completed", usage: {} });
    expect((await get(`${vendor.url}/v1/responses/other`)).status).toBe(404);
    expect(vendor.book).toHaveLength(1);

    const failing = await keep(openPerplexityDouble({ key: "k-1", status: "failed" }));
    const failed = await post(`${failing.url}/v1/agent`, ask);
    expect([failed.status, await failed.json()]).toMatchObject([200, { status: "failed", error: {} }]);
    expect(failing.book).toEqual([]);
  });

  test("Sonar is gone unless it is asked for", async () => {
    const chat = { model: "sonar-deep-research", messages: [{ role: "user", content: "why?" }] };
    const vendor = await keep(openPerplexityDouble({ key: "k-1" }));
    expect((await post(`${vendor.url}/chat/completions`, chat)).status).toBe(404);
    const old = await keep(openPerplexityDouble({ key: "k-1", sonar: true }));
    expect(await (await post(`${old.url}/chat/completions`, chat)).json()).toMatchObject({
      object: "chat.completion",
      citations: ["https://example.com/quick", "https://example.org/brown"],
      usage: { num_search_queries: 2, cost: { request_cost: 0.01 } },
    });
    expect(old.book).toHaveLength(1);
  });

  test("refuses a wrong key and every field it does not know", async () => {
    const vendor = await keep(openPerplexityDouble({ key: "k-1" }));
    const url = `${vendor.url}/v1/agent`;
    expect((await post(url, ask, {})).status).toBe(401);
    expect(await refusalOf(post(url, { ...ask, messages: [] }))).toEqual({
      status: 400,
      body: {
        error: {
          message: 'invalid request body: json: unknown field "messages"',
          type: "invalid_request",
          code: 400,
          param: "messages",
        },
      },
    });
    expect((await post(url, { preset: "high" })).status).toBe(400);
    expect((await post(url, { input: "a" })).status).toBe(400);
    expect(vendor.book).toEqual([]);
  });
});

describe("tavily", () => {
  test("search costs one credit or two, and says so only on request", async () => {
    const vendor = await keep(openTavilyDouble({ key: "k-1" }));
    const url = `${vendor.url}/search`;
    const quiet: unknown = await (await post(url, { query: "fox" })).json();
    expect(quiet).toMatchObject({
      query: "fox",
      answer: null,
      results: [{ score: 0.98 }, {}],
      request_id: "tavily-000000000001",
    });
    expect(quiet).not.toHaveProperty("usage");
    const told = await post(url, {
      query: "fox",
      search_depth: "advanced",
      include_usage: true,
      max_results: 1,
    });
    expect(await told.json()).toMatchObject({ results: [{}], usage: { credits: 2 } });
    expect(vendor.book.map(({ billed }) => billed)).toEqual([
      { endpoint: "search", credits: 1 },
      { endpoint: "search", credits: 2 },
    ]);
  });

  test("research is accepted, runs, and is done", async () => {
    const vendor = await keep(openTavilyDouble({ key: "k-1", runningPolls: 2 }));
    const pending: unknown = await (
      await post(`${vendor.url}/research`, { input: "foxes", model: "mini" })
    ).json();
    expect(pending).toMatchObject({ status: "pending" });
    const url = `${vendor.url}/research/${(pending as { request_id: string }).request_id}`;
    expect([(await get(url)).status, (await get(url)).status]).toEqual([202, 202]);
    const done = await get(url);
    expect([done.status, await done.json()]).toMatchObject([200, { status: "completed", sources: [{}, {}] }]);
    expect(vendor.book.map(({ billed }) => billed)).toEqual([{ endpoint: "research", credits: 20 }]);

    const failing = await keep(openTavilyDouble({ key: "k-1", status: "failed", runningPolls: 0 }));
    const task = (await (await post(`${failing.url}/research`, { input: "a" })).json()) as {
      request_id: string;
    };
    expect(await (await get(`${failing.url}/research/${task.request_id}`)).json()).toMatchObject({
      status: "failed",
    });
    expect(failing.book).toEqual([]);
  });

  test("refuses under `detail`, and can lie about credits", async () => {
    const vendor = await keep(openTavilyDouble({ key: "k-1", usage: { credits: -1 } }));
    const url = `${vendor.url}/search`;
    for (const body of [
      {},
      { query: "" },
      { query: "a".repeat(401) },
      { query: "a", depth: 1 },
      { query: "a", search_depth: "deep" },
      { query: "a", max_results: 21 },
    ]) {
      expect(await refusalOf(post(url, body))).toEqual({
        status: 400,
        body: { detail: { error: expect.any(String) as unknown } },
      });
    }
    expect((await post(url, { query: "a" }, { "x-api-key": "k-1" })).status).toBe(401);
    expect((await get(`${vendor.url}/research/none`)).status).toBe(404);
    expect(vendor.book).toEqual([]);
    const lie: unknown = await (await post(url, { query: "a", include_usage: true })).json();
    expect(lie).toHaveProperty("usage.credits", -1);
    expect(vendor.book[0]?.billed.credits).toBe(1);
  });
});

describe("exa", () => {
  const auth = { "x-api-key": "k-1" };

  test("search names its price, deeper is dearer", async () => {
    const vendor = await keep(openExaDouble({ key: "k-1" }));
    const url = `${vendor.url}/search`;
    expect(await (await post(url, { query: "fox" }, auth)).json()).toMatchObject({
      requestId: "exa-000000000001",
      resolvedSearchType: "neural",
      results: [{ url: "https://example.com/quick" }, {}],
      costDollars: { total: 0.005 },
    });
    const deep = { query: "fox", type: "deep-reasoning", numResults: 1, contents: { text: true } };
    expect(await (await post(url, deep, auth)).json()).toMatchObject({
      results: [{ text: "Foxes run." }],
      costDollars: { total: 0.016 },
    });
    expect(vendor.book.map(({ billed }) => billed)).toEqual([
      { type: "auto", usd: "0.005000" },
      { type: "deep-reasoning", usd: "0.016000" },
    ]);
  });

  test("a deep search has an answer only where its shape is asked for", async () => {
    const vendor = await keep(openExaDouble({ key: "k-1" }));
    const deep = { query: "fox", type: "deep-reasoning" };
    const found = async (body: object): Promise<unknown> =>
      (await post(`${vendor.url}/search`, body, auth)).json();
    expect(await found(deep)).not.toHaveProperty("output");
    expect(await found({ ...deep, outputSchema: { type: "text" } })).toMatchObject({
      output: { content: "Foxes are quick." },
    });
  });

  test("refuses, and may leave its price out", async () => {
    const vendor = await keep(openExaDouble({ key: "k-1", cost: omitted }));
    const url = `${vendor.url}/search`;
    expect((await post(url, { query: "a" })).status).toBe(401);
    for (const body of [
      {},
      { query: "a", num: 1 },
      { query: "a", type: "wide" },
      { query: "a", numResults: 0 },
    ]) {
      expect((await post(url, body, auth)).status).toBe(400);
    }
    expect((await post(`${vendor.url}/research/v1`, { query: "a" }, auth)).status).toBe(404);
    expect(vendor.book).toEqual([]);
    expect(await (await post(url, { query: "a" }, auth)).json()).not.toHaveProperty("costDollars");
    expect(vendor.book).toHaveLength(1);
  });
});
