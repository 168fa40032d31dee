// The doubles of the vendors that rerank, measured before they measure the gateway.

import { describe, expect, test } from "bun:test";
import { openCohereDouble } from "./cohere.ts";
import { createKeeper, get, post } from "./exchange.ts";
import { openJinaDouble } from "./jina.ts";
import type { VendorDouble } from "./vendor-double.ts";
import { openVoyageDouble } from "./voyage.ts";

const keep = createKeeper();

describe("rerank vendors", () => {
  const asked = { query: "red fox", documents: ["blue whale", "a red fox", "red door"] };

  test("jina: results with documents, usage in tokens", async () => {
    const vendor = await keep(openJinaDouble({ key: "k-1" }));
    const body = { model: "jina-reranker-v3", ...asked, top_n: 2 };
    const answer: unknown = await (await post(`${vendor.url}/rerank`, body)).json();
    expect(answer).toEqual({
      model: "jina-reranker-v3",
      usage: { total_tokens: 14 },
      results: [
        { index: 1, relevance_score: 1, document: { text: "a red fox" } },
        { index: 2, relevance_score: 0.5, document: { text: "red door" } },
      ],
    });
    expect(vendor.book[0]).toMatchObject({ requestId: null, billed: { usage: { total_tokens: 14 } } });

    const bare: unknown = await (
      await post(`${vendor.url}/rerank`, { ...body, return_documents: false })
    ).json();
    expect(bare).toHaveProperty("results.0", { index: 1, relevance_score: 1 });
  });

  test("jina: results and usage can be overridden", async () => {
    const results = [{ index: 99, relevance_score: 2 }];
    const vendor = await keep(openJinaDouble({ key: "k-1", results, usage: { total_tokens: 0 } }));
    const answer = await post(`${vendor.url}/rerank`, { model: "jina-reranker-v3", ...asked });
    expect(await answer.json()).toMatchObject({ results, usage: { total_tokens: 0 } });
    expect(vendor.book[0]?.billed.usage).toEqual({ total_tokens: 0 });
  });

  test("cohere: scores only, usage in search units", async () => {
    const vendor = await keep(openCohereDouble({ key: "k-1" }));
    expect(vendor.url).toEndWith("/v2");
    const documents = Array.from({ length: 101 }, (_, index) => `red ${index}`);
    const body = { model: "rerank-v3.5", query: "red", documents, top_n: 1 };
    const answer: unknown = await (await post(`${vendor.url}/rerank`, body)).json();
    expect(answer).toEqual({
      id: "cohere-000000000001",
      results: [{ index: 0, relevance_score: 1 }],
      meta: { api_version: { version: "2" }, billed_units: { search_units: 2 } },
    });
    expect(vendor.book[0]).toMatchObject({
      requestId: "cohere-000000000001",
      billed: { units: { search_units: 2 } },
    });
  });

  test("voyage: data, documents as strings and only when asked", async () => {
    const vendor = await keep(openVoyageDouble({ key: "k-1" }));
    const body = { model: "rerank-2.5", ...asked, top_k: 1, return_documents: true };
    const answer: unknown = await (await post(`${vendor.url}/rerank`, body)).json();
    expect(answer).toEqual({
      object: "list",
      data: [{ index: 1, relevance_score: 1, document: "a red fox" }],
      model: "rerank-2.5",
      usage: { total_tokens: 14 },
    });
    expect(vendor.book[0]?.billed).toEqual({ model: "rerank-2.5", usage: { total_tokens: 14 } });
    const bare: unknown = await (
      await post(`${vendor.url}/rerank`, { model: "rerank-2.5", ...asked })
    ).json();
    expect(bare).toHaveProperty("data.0", { index: 1, relevance_score: 1 });
  });

  const dialects = [
    {
      name: "jina",
      open: openJinaDouble,
      model: "jina-reranker-v3",
      stranger: "top_k",
      status: 422,
      word: "detail",
    },
    {
      name: "cohere",
      open: openCohereDouble,
      model: "rerank-v3.5",
      stranger: "return_documents",
      status: 400,
      word: "message",
    },
    {
      name: "voyage",
      open: openVoyageDouble,
      model: "rerank-2.5",
      stranger: "top_n",
      status: 400,
      word: "detail",
    },
  ] as const;
  test.each(dialects)("$name refuses in its own words and bills nothing", async (dialect) => {
    const vendor: VendorDouble & { readonly book: readonly object[] } = await keep<
      VendorDouble & { readonly book: readonly object[] }
    >(dialect.open({ key: "k-1" }));
    const body = { model: dialect.model, ...asked };
    const url = `${vendor.url}/rerank`;
    const refusals = [
      [await post(url, body, { Authorization: "Bearer other" }), 401],
      [await post(url, body, {}), 401],
      [await post(url, { ...body, [dialect.stranger]: 1 }), dialect.status],
      [await post(url, { ...body, documents: [] }), dialect.status],
      [await post(url, { ...body, query: undefined }), dialect.status],
      [await post(url, body, { Authorization: "Bearer k-1", "Content-Type": "text/plain" }), dialect.status],
      [await get(url), 404],
    ] as const;
    for (const [answer, status] of refusals) {
      expect(answer.status).toBe(status);
      expect(await answer.json()).toEqual({ [dialect.word]: expect.any(String) as unknown });
    }
    expect(vendor.book).toEqual([]);
  });
});
