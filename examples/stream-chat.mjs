// Read an answer as it comes, and learn what it cost when it is through.
//   npm run client:build, once, then: TOLLGATE_KEY=tgk_… node examples/stream-chat.mjs

import assert from "node:assert/strict";
import { createClient } from "tollgate-client";
import { settings } from "./settings.mjs";

const client = createClient(settings);
const stream = await client.stream("chat.completions.create", {
  model: "gpt-4o-mini",
  messages: [{ role: "user", content: "Say something about bridges." }],
  max_tokens: 80,
});

let words = "";
for await (const { data } of stream) {
  if (data === "[DONE]") break;
  // The last event of an answer that broke off has no choices; the stream itself fails after it, and says what it cost.
  const text = JSON.parse(data).choices?.[0]?.delta?.content ?? "";
  words += text;
  process.stdout.write(text);
}
const { costMicrosUsd } = await stream.end();
console.log(`\nIt cost ${costMicrosUsd} micro-USD.`);

assert.ok(words.length > 0);
assert.equal((await client.receipt(stream.requestId)).charged_micros_usd, costMicrosUsd);
