import type { UsageReport } from "../../usage/usage-report.ts";
import { accountResponse } from "./account-layout.ts";
import { groupsShownMax, overviewPage, type Spent } from "./overview-page.ts";
import type { Reader } from "./reader.ts";
import { takeCallsApart, takeKeysApart, type Span } from "./usage-apart.ts";

const secondsPerDay = 86_400;
const daysShown = 30;

/** What there is, what was spent, where it went, and how the limits stand. */
export async function showOverview(reader: Reader): Promise<Response> {
  const { asker, books, siteUrl } = reader;
  const nowSeconds = Math.floor(asker.nowMs / 1000);
  const today = nowSeconds - (nowSeconds % secondsPerDay);
  // The running second counts too: a call that was just answered is in the report.
  const windowOf = (days: number) => ({
    startSeconds: today - (days - 1) * secondsPerDay,
    endSeconds: nowSeconds + 1,
  });
  const usage = await books.usage(asker, windowOf(daysShown));
  const spanOf = (days: number): Span => ({
    days,
    window: windowOf(days),
    requests: spentIn(usage, days).requests,
  });
  return accountResponse(
    overviewPage({
      balance: await books.balance(asker),
      usage,
      today: spentIn(usage, 1),
      week: spentIn(usage, 7),
      calls: await takeCallsApart(reader, [spanOf(daysShown), spanOf(7), spanOf(1)]),
      keys: await takeKeysApart(reader, windowOf(daysShown), groupsShownMax),
      limits: await books.limits(asker),
      siteUrl,
    }),
    reader,
  );
}

/** The last days of a report, today among them, added up. */
function spentIn({ buckets }: UsageReport, days: number): Spent {
  const sum = { requests: 0, failed_requests: 0, charged_micros_usd: 0 };
  for (const bucket of buckets.slice(-days)) {
    sum.requests += bucket.requests;
    sum.failed_requests += bucket.failed_requests;
    sum.charged_micros_usd += bucket.charged_micros_usd;
  }
  return sum;
}
