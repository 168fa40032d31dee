// Page through quotes of a post. A page is asked for, and paid, only when its items are wanted.
//   npm run client:build, once, then: TOLLGATE_KEY=tgk_… node examples/read-pages.mjs

import assert from "node:assert/strict";
import { createClient } from "tollgate-client";
import { settings } from "./settings.mjs";

const wanted = 25;
const client = createClient(settings);
const quotes = client.pages(
  "social_a.tweet.quotes",
  { tweetId: "1846987139428634858" },
  { items: (page) => page.tweets ?? [], next: (page) => (page.has_next_page ? page.next_cursor : undefined) },
  { maxPriceUsd: "0.01" },
);

const texts = [];
for await (const { text } of quotes) {
  texts.push(text);
  if (texts.length === wanted) break;
}
console.log(`${texts.length} quotes, the first: ${texts[0]}`);
assert.ok(texts.length > 0 && texts.length <= wanted);

for await (const receipt of client.receipts({ operation_id: "social_a.tweet.quotes" })) {
  console.log(`${receipt.request_id} cost ${receipt.charged_micros_usd} micro-USD.`);
  assert.equal(receipt.charged_micros_usd, 3_000);
  break;
}
