// What went wrong, whether money moved, and what was spent today.
//   npm run client:build, once, then: TOLLGATE_KEY=tgk_… node examples/mind-the-money.mjs

import assert from "node:assert/strict";
import { createClient, isTollgateError } from "tollgate-client";
import { settings } from "./settings.mjs";

const client = createClient(settings);
const before = await client.balance();

const refused = await client
  .call("financial.metrics.snapshot", { ticker: "AAPL" }, { maxPriceUsd: 0.01 })
  .catch((error) => error);
assert.ok(isTollgateError(refused));
console.log(`${refused.kind} (${refused.code}): ${refused.message} Money moved: ${refused.moneyMoved}.`);
assert.equal(refused.kind, "budget");
assert.equal(refused.moneyMoved, "no");

const { data, chargedMicrosUsd } = await client.call(
  "financial.metrics.snapshot",
  { ticker: "AAPL" },
  { maxPriceUsd: 0.05, signal: AbortSignal.timeout(30_000) },
);
console.log(`${data.snapshot.ticker} for ${chargedMicrosUsd} micro-USD.`);
assert.equal((await client.balance()).balance_micros_usd, before.balance_micros_usd - chargedMicrosUsd);

const { totals } = await client.usage({ start_time: Math.floor(Date.now() / 1000) - 86_400 });
console.log(`${totals.requests} calls in a day, ${totals.charged_micros_usd} micro-USD.`);
assert.ok(totals.charged_micros_usd >= chargedMicrosUsd);
