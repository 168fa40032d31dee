// Ask what a call would cost, make it with a cap, and compare the receipt.
//   npm run client:build, once, then: TOLLGATE_KEY=tgk_… node examples/rank-documents.mjs

import assert from "node:assert/strict";
import { createClient } from "tollgate-client";
import { settings } from "./settings.mjs";

const client = createClient(settings);
const question = {
  query: "how do plants make food",
  documents: ["Trains run on rails.", "Plants make food from light.", "Bread is made from flour."],
};

const quote = await client.quote("rerank.create", question);
console.log(`It will cost at most ${quote.max_cost_micros_usd} micro-USD.`);

const { data, chargedMicrosUsd, requestId } = await client.call("rerank.create", question, {
  maxPriceUsd: "0.001",
});
for (const { relevance_score: score, document } of data.results) console.log(score.toFixed(3), document.text);
assert.equal(data.results[0].document.text, "Plants make food from light.");

const receipt = await client.receipt(requestId);
console.log(`It cost ${chargedMicrosUsd} micro-USD. ${receipt.explanation}`);
assert.equal(receipt.charged_micros_usd, chargedMicrosUsd);
assert.ok(chargedMicrosUsd <= quote.max_cost_micros_usd);
