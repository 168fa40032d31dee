// Voyage rerank: `top_k`, `data` (a list object), a document echoed as a string only on request.

import { runRerank } from "../rerank-call.ts";
import type { Vendor, VendorAnswer } from "../vendor.ts";

export function createVoyage({ key }: { key: string }): Vendor {
  const answer: Vendor["answer"] = (call) => {
    const reranked = runRerank(call, { key, topName: "top_k" });
    if ("refused" in reranked) return refuse(statuses[reranked.refused], reranked.message);

    const { request, model, documents, ranked, tokens } = reranked;
    const echo = request["return_documents"] === true;
    const data = ranked.map(({ index, score }) => ({
      relevance_score: score,
      index,
      ...(echo ? { document: documents[index] } : {}),
    }));
    return {
      status: 200,
      body: { object: "list", data, model, usage: { total_tokens: tokens } },
      billed: { tokens },
    };
  };
  return { answer, refuse };
}

const statuses = { missing_key: 401, wrong_key: 401, path: 404, method: 405, invalid: 400 } as const;

const refuse = (status: number, message: string): VendorAnswer => ({
  status,
  body: { detail: message },
  billed: null,
});
