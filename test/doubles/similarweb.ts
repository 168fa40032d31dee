// Similarweb v5: one GET, key in api-key, credits by metrics and months, nothing without data.

import type { Answer } from "./scripted-answer.ts";
import { openVendorDouble } from "./vendor-double.ts";
import type { Handler, RecordedRequest } from "./vendor-double.ts";
import { hasHeader, jsonAnswer, queryOf, resolveOverride } from "./vendor-checks.ts";
import type { BookEntry, BookkeepingDouble, JsonValue, Override } from "./vendor-checks.ts";

export interface SimilarwebBilled {
  readonly credits: number;
}

export interface SimilarwebOptions {
  readonly key: string;
  /** Replaces `data`. */
  readonly data?: Override<RecordedRequest>;
}

export const openSimilarwebDouble = async ({
  key,
  data,
}: SimilarwebOptions): Promise<BookkeepingDouble<SimilarwebBilled>> => {
  const book: BookEntry<SimilarwebBilled>[] = [];

  const traffic: Handler = (request) => {
    if (!hasHeader(request, { name: "api-key", value: key })) return refuse(401, "Invalid API key");
    const query = queryOf(request);
    const missing = ["domain", "start_date", "end_date", "metrics"].find((name) => !query.get(name));
    if (missing !== undefined) return refuse(400, `${missing} is required`);

    const metrics = [...new Set((query.get("metrics") ?? "").split(","))];
    const dates = monthsBetween(query.get("start_date") ?? "", query.get("end_date") ?? "");
    if (dates.length === 0) return refuse(400, "dates must be YYYY-MM, between 2016-07 and 2026-07");

    const honest: JsonValue = dates.map((date) => ({
      date,
      ...Object.fromEntries(metrics.map((metric) => [metric, 12.5])),
    }));
    const told = resolveOverride({ override: data, input: request, honest });
    if (Array.isArray(told) && told.length > 0) {
      book.push({ requestId: null, billed: { credits: metrics.length * dates.length }, request });
    }
    return jsonAnswer(200, {
      meta: { request: { domain: query.get("domain"), metrics }, status: "success" },
      data: told,
    });
  };

  const double = await openVendorDouble({
    basePath: "/v5",
    handlers: {
      "GET /v5/website-analysis/websites/traffic-and-engagement": traffic,
      "*": () => refuse(404, "No such endpoint"),
    },
  });
  return { ...double, book };
};

const refuse = (status: number, message: string): Answer =>
  jsonAnswer(status, { meta: { status: "error", error_message: message } });

/** The first day of each month, both ends included; none when the dates make no span of 1 to 120 months. */
function monthsBetween(start: string, end: string): readonly string[] {
  if (![start, end].every((date) => /^\d{4}-(0[1-9]|1[0-2])$/.test(date))) return [];
  const dates: string[] = [];
  const month = new Date(`${start}-01T00:00:00Z`);
  const last = new Date(`${end}-01T00:00:00Z`);
  while (month <= last && dates.length <= 120) {
    dates.push(month.toISOString().slice(0, 10));
    month.setUTCMonth(month.getUTCMonth() + 1);
  }
  return dates.length > 120 ? [] : dates;
}
