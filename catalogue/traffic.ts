// The specification leaves the parameters open, so they are forwarded as they come and none is required. Two may have one value
// only; the others are read for the price alone. The vendor takes one credit for each metric, month and country that is asked
// for, and nothing when it has no data. A request that does not show these is paid for by the figures that came.

import { defineOperation, isJsonObject, z } from "../gateway/src/for-catalogues.ts";

/** What is held when the request does not show what it will cost. Anything above is the operator's loss. */
const creditsHeldUnknown = 10;
const monthsMax = 120;

/**
 * In another format nobody here could read whether there are data to pay for. At a finer granularity the vendor takes a credit for
 * each day or week. Names are compared in any letters, because some servers read them so.
 */
const onlyTaken: ReadonlyMap<string, string> = new Map([
  ["format", "json"],
  ["granularity", "monthly"],
]);

const trafficQuery = z.looseObject({}).check(({ value, issues }) => {
  for (const [name, input] of Object.entries(value)) {
    const taken = onlyTaken.get(name.toLowerCase());
    if (taken === undefined || input === taken) continue;
    issues.push({ code: "custom", message: `expected ${taken}`, path: [name], input });
  }
});

export const websiteTrafficEngagement = defineOperation({
  id: "traffic_analytics.website.traffic_engagement",
  title: "Website traffic and engagement",
  summary: "Visits to a website and what visitors did there, by month.",
  keywords: ["visitors", "bounce rate", "competitor", "analytics"],
  category: "data",
  method: "GET",
  path: "/apis/v1/{traffic_analytics}/website/traffic-engagement",
  definition: "pending",
  query: trafficQuery,
  response: z.looseObject({}),
  example: {
    query: { domain: "example.com", metrics: "visits", start_date: "2026-01", end_date: "2026-01" },
  },
  hidden: true,
  idempotency: { codePrefix: "traffic_analytics_" },
  price: {
    kind: "per_unit",
    unit: "credit",
    usd: "0.1",
    requested: ({ rawQuery }) => creditsAsked(rawQuery) ?? 1,
    atMost: ({ rawQuery }) => creditsAsked(rawQuery) ?? creditsHeldUnknown,
    delivered: ({ json }, { rawQuery }) => {
      const rows = rowsOf(json);
      return rows.length === 0 ? undefined : (creditsAsked(rawQuery) ?? figuresIn(rows));
    },
  },
  servedBy: {
    similarweb: { exchange: "forward_query", path: "/website-analysis/websites/traffic-and-engagement" },
  },
});

/** Undefined when the request shows no metrics or months. A parameter given twice, in any letters, counts for all its values. */
function creditsAsked(rawQuery: string): number | undefined {
  const query = new URLSearchParams();
  for (const [name, value] of new URLSearchParams(rawQuery)) query.append(name.toLowerCase(), value);
  const starts = query.getAll("start_date").map(monthOf);
  const ends = query.getAll("end_date").map(monthOf);
  // No date at all makes this infinite, and one that is none makes it NaN; neither is a number of months.
  const months = Math.max(...ends) - Math.min(...starts) + 1;
  if (!(months >= 1 && months <= monthsMax)) return undefined;
  const metrics = wordsOf(query, "metrics");
  return metrics === 0 ? undefined : metrics * months * Math.max(1, wordsOf(query, "country"));
}

/** Months since the year 0. */
function monthOf(date: string): number {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])(?:-\d{2})?$/.exec(date) ?? [];
  return Number(year) * 12 + Number(month);
}

const wordsOf = (query: URLSearchParams, name: string): number =>
  new Set(
    query
      .getAll(name)
      .flatMap((list) => list.split(","))
      .map((word) => word.trim().toLowerCase())
      .filter((word) => word !== ""),
  ).size;

const rowsOf = (json: unknown): readonly unknown[] =>
  isJsonObject(json) && Array.isArray(json["data"]) ? json["data"] : [];

/** A row is a month: its date, and a figure for each metric. */
const figuresIn = (rows: readonly unknown[]): number =>
  rows
    .filter(isJsonObject)
    .reduce<number>((sum, row) => sum + Object.keys(row).filter((name) => name !== "date").length, 0);
