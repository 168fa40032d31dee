// Cohere v2 rerank: `top_n`, no document echo, billed by search unit and not by token.

import { runRerank } from "../rerank-call.ts";
import { fingerprint } from "../seeded.ts";
import type { Vendor, VendorAnswer } from "../vendor.ts";

const documentsPerSearchUnit = 100;

export function createCohere({ key }: { key: string }): Vendor {
  const answer: Vendor["answer"] = (call) => {
    const reranked = runRerank(call, { key, topName: "top_n" });
    if ("refused" in reranked) return refuse(statuses[reranked.refused], reranked.message);

    const { documents, ranked, tokens } = reranked;
    const searchUnits = Math.ceil(documents.length / documentsPerSearchUnit);
    const body = {
      id: fingerprint(`cohere ${call.nowMs} ${call.body}`),
      results: ranked.map(({ index, score }) => ({ index, relevance_score: score })),
      meta: {
        api_version: { version: "2" },
        billed_units: { search_units: searchUnits },
        tokens: { input_tokens: tokens },
      },
    };
    return { status: 200, body, billed: { search_units: searchUnits, tokens } };
  };
  return { answer, refuse };
}

const statuses = { missing_key: 401, wrong_key: 401, path: 404, method: 405, invalid: 400 } as const;

const refuse = (status: number, message: string): VendorAnswer => ({
  status,
  body: { message },
  billed: null,
});
