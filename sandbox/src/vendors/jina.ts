// Jina rerank: `top_n`, `results` with `document: {text}`, `usage.total_tokens`.

import { runRerank } from "../rerank-call.ts";
import type { Vendor, VendorAnswer } from "../vendor.ts";

export function createJina({ key }: { key: string }): Vendor {
  const answer: Vendor["answer"] = (call) => {
    const reranked = runRerank(call, { key, topName: "top_n" });
    if ("refused" in reranked) return refuse(statuses[reranked.refused], reranked.message);

    const { request, model, documents, ranked, tokens } = reranked;
    const echo = request["return_documents"] !== false;
    const results = ranked.map(({ index, score }) => ({
      index,
      relevance_score: score,
      ...(echo ? { document: { text: documents[index] } } : {}),
    }));
    return {
      status: 200,
      body: { model, object: "list", usage: { total_tokens: tokens }, results },
      billed: { tokens },
    };
  };
  return { answer, refuse };
}

const statuses = { missing_key: 401, wrong_key: 401, path: 404, method: 405, invalid: 422 } as const;

const refuse = (status: number, message: string): VendorAnswer => ({
  status,
  body: { detail: message },
  billed: null,
});
