import type { Scenario } from "../rig/scenario.ts";

const documents = Array.from(
  { length: 10 },
  (_, at) => `Document ${at}: ${"the gate counts what passes. ".repeat(4)}`,
);

const results = documents.map((_, index) => ({ index, relevance_score: 0.9 - index / 20 }));

/** Ten documents to be ordered. */
export const rerank: Scenario = {
  request: {
    method: "POST",
    path: "/v1/rerank",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "jina-reranker-v3", query: "what does the gate count", documents }),
  },
  answer: {
    contentType: "application/json",
    body: JSON.stringify({
      model: "jina-reranker-v3",
      object: "list",
      usage: { total_tokens: 431 },
      results,
    }),
  },
  told: { results },
};
