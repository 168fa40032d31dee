import { describe, expect, test } from "bun:test";
import { anyNumber, anyString, at, containing, createTestSandbox } from "../test-sandbox.ts";

const request = {
  model: "m",
  query: "green tea",
  documents: ["black coffee beans", "green tea from Japan", "tea cups"],
};
// The query has 2 tokens and is paid for each of three documents; the documents have 3, 4 and 2.
const tokens = 2 * 3 + 3 + 4 + 2;

describe("jina", () => {
  test("answers results with echoed documents and the tokens billed", async () => {
    const { ask, book } = createTestSandbox();
    const { status, json } = await ask("POST", "/jina/rerank", { body: { ...request, top_n: 2 } });
    expect(status).toBe(200);
    expect(json).toEqual({
      model: "m",
      object: "list",
      usage: { total_tokens: tokens },
      results: [
        { index: 1, relevance_score: anyNumber, document: { text: "green tea from Japan" } },
        { index: 2, relevance_score: anyNumber, document: { text: "tea cups" } },
      ],
    });
    expect(book.read().entries[0]?.billed).toEqual({ tokens });
  });

  test("leaves the documents out on request, and takes them as objects", async () => {
    const { ask } = createTestSandbox();
    const documents = request.documents.map((text) => ({ text }));
    const { json } = await ask("POST", "/jina/rerank", {
      body: { ...request, documents, return_documents: false, top_n: 1 },
    });
    expect(at(json, "results")).toEqual([{ index: 1, relevance_score: anyNumber }]);
  });

  test("refuses with a detail", async () => {
    const { ask } = createTestSandbox();
    expect(await ask("POST", "/jina/rerank", { body: request, headers: {} })).toMatchObject({
      status: 401,
      json: { detail: anyString },
    });
    expect(await ask("POST", "/jina/rerank", { body: { ...request, query: "" } })).toMatchObject({
      status: 422,
      json: { detail: containing("query") },
    });
    expect(await ask("POST", "/jina/rerank", { body: { ...request, top_n: 0 } })).toMatchObject({
      status: 422,
      json: { detail: containing("top_n") },
    });
    expect((await ask("GET", "/jina/rerank")).status).toBe(405);
    expect((await ask("POST", "/jina/other", { body: request })).status).toBe(404);
  });
});

describe("cohere", () => {
  test("answers results without documents, billed by search unit", async () => {
    const { ask, book } = createTestSandbox();
    const { status, json } = await ask("POST", "/cohere/rerank", { body: request });
    expect(status).toBe(200);
    expect(json).toEqual({
      id: anyString,
      results: [1, 2, 0].map((index) => ({ index, relevance_score: anyNumber })),
      meta: {
        api_version: { version: "2" },
        billed_units: { search_units: 1 },
        tokens: { input_tokens: tokens },
      },
    });
    expect(book.read().entries[0]?.billed).toEqual({ search_units: 1, tokens });
  });

  test("counts one search unit per hundred documents begun", async () => {
    const { ask } = createTestSandbox();
    const documents = Array.from({ length: 101 }, (_, i) => `document ${i}`);
    const { json } = await ask("POST", "/cohere/rerank", { body: { ...request, documents, top_n: 1000 } });
    expect(at(json, "meta", "billed_units", "search_units")).toBe(2);
    expect(at(json, "results", "length")).toBe(101);
  });

  test("refuses with a message", async () => {
    const { ask } = createTestSandbox();
    const wrongKey = { authorization: "Bearer other" };
    expect(await ask("POST", "/cohere/rerank", { body: request, headers: wrongKey })).toMatchObject({
      status: 401,
      json: { message: "invalid api key" },
    });
    expect(await ask("POST", "/cohere/rerank", { body: { ...request, documents: [] } })).toMatchObject({
      status: 400,
      json: { message: containing("documents") },
    });
  });
});

describe("voyage", () => {
  test("answers a list object under data, cut by top_k", async () => {
    const { ask, book } = createTestSandbox();
    const { status, json } = await ask("POST", "/voyage/rerank", { body: { ...request, top_k: 1 } });
    expect(status).toBe(200);
    expect(json).toEqual({
      object: "list",
      data: [{ relevance_score: anyNumber, index: 1 }],
      model: "m",
      usage: { total_tokens: tokens },
    });
    expect(book.read().entries[0]?.billed).toEqual({ tokens });
  });

  test("echoes a document as a string on request", async () => {
    const { ask } = createTestSandbox();
    const { json } = await ask("POST", "/voyage/rerank", {
      body: { ...request, top_k: 1, return_documents: true },
    });
    expect(at(json, "data", 0, "document")).toBe("green tea from Japan");
  });

  test("refuses with a detail", async () => {
    const { ask } = createTestSandbox();
    expect(await ask("POST", "/voyage/rerank", { body: { ...request, top_k: "2" } })).toMatchObject({
      status: 400,
      json: { detail: containing("top_k") },
    });
    expect(await ask("POST", "/voyage/rerank", { body: request, headers: {} })).toMatchObject({
      status: 401,
      json: { detail: anyString },
    });
  });
});
