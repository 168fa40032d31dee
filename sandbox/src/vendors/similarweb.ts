// Similarweb v5: figures about a website by month, a credit for each metric and month.

import { createSeeded } from "../seeded.ts";
import type { JsonObject, Vendor, VendorAnswer } from "../vendor.ts";

const monthsMax = 120;

const ranges = {
  visits: [1_000, 90_000_000, 0],
  pages_per_visit: [1, 9, 4],
  average_visit_duration: [20, 600, 2],
  bounce_rate: [0.2, 0.8, 4],
  page_views: [2_000, 400_000_000, 0],
  unique_visitors: [500, 40_000_000, 0],
  new_users: [200, 20_000_000, 0],
  returning_users: [200, 20_000_000, 0],
} as const satisfies Record<string, readonly [from: number, to: number, places: number]>;

type Metric = keyof typeof ranges;

export function createSimilarweb({ key }: { key: string }): Vendor {
  const answer: Vendor["answer"] = ({ method, path, query, headers }) => {
    if (headers.get("api-key") !== key) return refuse(401, "Invalid API key");
    if (path !== "/website-analysis/websites/traffic-and-engagement") return refuse(404, "Not found");
    if (method !== "GET") return refuse(405, "Method not allowed");
    const asked = readQuery(query);
    if (typeof asked === "string") return refuse(400, asked);

    const { domain, from, months, metrics, country } = asked;
    const known = !domain.startsWith("missing");
    const data = Array.from({ length: known ? months : 0 }, (_, i) =>
      rowOf(`${domain} ${country}`, metrics, from + i),
    );
    return {
      status: 200,
      body: { meta: metaOf(query, asked), data },
      billed: known ? { credits: metrics.length * months } : null,
    };
  };
  return { answer, refuse };
}

const refuse = (status: number, message: string): VendorAnswer => ({
  status,
  body: { meta: { status: "error", error_code: status, error_message: message } },
  billed: null,
});

interface Asked {
  readonly domain: string;
  readonly country: string;
  /** Months since the year 0. */
  readonly from: number;
  readonly months: number;
  readonly metrics: readonly Metric[];
}

/** A text is what is wrong. */
function readQuery(query: URLSearchParams): Asked | string {
  const domain = query.get("domain");
  if (!domain) return "domain is required";
  const from = monthOf(query.get("start_date"));
  const to = monthOf(query.get("end_date"));
  if (from === undefined || to === undefined) return "start_date and end_date are required as YYYY-MM";
  const months = to - from + 1;
  if (months < 1 || months > monthsMax) return `the dates must span 1 to ${monthsMax} months`;
  const words = new Set((query.get("metrics") ?? "").split(",").filter((word) => word !== ""));
  const metrics = [...words].filter(isMetric);
  if (words.size === 0) return "metrics is required";
  if (metrics.length < words.size) return `metrics: supported are ${Object.keys(ranges).join(", ")}`;
  return { domain, country: query.get("country") ?? "ww", from, months, metrics };
}

const isMetric = (word: string): word is Metric => Object.hasOwn(ranges, word);

function monthOf(text: string | null): number | undefined {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text ?? "") ?? [];
  return year === undefined ? undefined : Number(year) * 12 + Number(month) - 1;
}

const dayOf = (month: number, day: number): string =>
  new Date(Date.UTC(Math.floor(month / 12), month % 12, day)).toISOString().slice(0, 10);

const metaOf = (query: URLSearchParams, { domain, country, from, months, metrics }: Asked): JsonObject => ({
  request: {
    format: "json",
    domain,
    granularity: query.get("granularity") ?? "monthly",
    country,
    start_date: dayOf(from, 1),
    // The day before the first of the month after.
    end_date: dayOf(from + months, 0),
    web_source: query.get("web_source") ?? "total",
    metrics,
    state: null,
    mtd: query.get("mtd") === "true",
    main_domain_only: query.get("main_domain_only") !== "false",
  },
  status: "success",
  last_updated: "2026-10-31",
});

const rowOf = (subject: string, metrics: readonly Metric[], month: number): JsonObject => ({
  date: dayOf(month, 1),
  ...Object.fromEntries(
    metrics.map((metric) => {
      const [from, to, places] = ranges[metric];
      return [metric, createSeeded(`traffic ${subject} ${month} ${metric}`).decimal({ from, to, places })];
    }),
  ),
});
