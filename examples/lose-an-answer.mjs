// The answer of a paid call is lost on the way. The client does not pay twice: it asks the books what became of it.
//   npm run client:build, once, then: TOLLGATE_KEY=tgk_… node examples/lose-an-answer.mjs

import assert from "node:assert/strict";
import { createClient, isTollgateError } from "tollgate-client";
import { settings } from "./settings.mjs";

/** A network that swallows the first answer, after the gateway has done the work. */
let lost = 0;
const badFetch = async (url, init) => {
  const response = await fetch(url, init);
  if (lost > 0 || init.method !== "POST") return response;
  lost += 1;
  await response.arrayBuffer();
  throw new TypeError("the connection was reset");
};

const client = createClient({ ...settings, fetch: badFetch });
const idempotencyKey = `example-${Date.now()}-${Math.random()}`;
try {
  const documents = ["green tea", "a car", "the history of tea. ".repeat(200)];
  await client.call("rerank.create", { query: "tea", documents }, { idempotencyKey });
  assert.fail("The answer should have been lost.");
} catch (error) {
  if (!isTollgateError(error)) throw error;
  console.log(`${error.kind}: money moved: ${error.moneyMoved}, ${error.chargedMicrosUsd} micro-USD.`);
  assert.equal(error.kind, "answer_lost");
  assert.equal(error.moneyMoved, "yes");
  assert.equal(error.attempts, 1);

  const outcome = await client.outcome(idempotencyKey);
  assert.equal(outcome.request_id, error.requestId);
  assert.equal(outcome.charged_micros_usd, error.chargedMicrosUsd);
}
