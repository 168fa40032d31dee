import { lastDays } from "../../usage/last-days.ts";
import type { UsageReport } from "../../usage/usage-report.ts";
import { accountResponse } from "../people/account-layout.ts";
import { groupsShownMax, overviewPage, type Spent } from "./overview-page.ts";
import type { Reader } from "./reader.ts";
import { takeCallsApart, takeKeysApart, type Span } from "./take-usage-apart.ts";

const daysShown = 30;

/** What there is, what was spent, where it went, and how the limits stand. */
export async function showOverview(reader: Reader): Promise<Response> {
  const { asker, selfService, siteUrl } = reader;
  const usage = await selfService.usage(asker, lastDays(daysShown, asker.nowMs));
  const spanOf = (days: number): Span => ({
    days,
    window: lastDays(days, asker.nowMs),
    requests: spentIn(usage, days).requests,
  });
  return accountResponse(
    overviewPage({
      balance: await selfService.balance(asker),
      usage,
      today: spentIn(usage, 1),
      week: spentIn(usage, 7),
      calls: await takeCallsApart(reader, [spanOf(daysShown), spanOf(7), spanOf(1)]),
      keys: await takeKeysApart(reader, lastDays(daysShown, asker.nowMs), groupsShownMax),
      limits: await selfService.limits(asker),
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
