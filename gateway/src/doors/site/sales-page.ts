import type { SalesShelf } from "../../contract/sales-shelf.ts";
import { isoTime } from "../../platform/clock.ts";
import type { SitePage } from "./site-page.ts";

/** What is sold and for how much, with how old that knowledge is. */
export const salesPage =
  ({ sales }: { readonly sales: SalesShelf }): SitePage =>
  async () => {
    const data = sales.read();
    if (!data) return Response.json(none, { status: 503, headers: noCache });
    const { freshness, observedAtMs, source, items } = data;
    const observed_at = isoTime(observedAtMs);
    return Response.json({ freshness, observed_at, source, items }, { headers: noCache });
  };

const noCache = { "cache-control": "no-cache" } as const;

/** Says that the source cannot be had, and nothing about any call. */
const none = {
  freshness: "unavailable",
  reason_code: "verified_sales_source_unavailable",
  observed_at: null,
  source: null,
  items: [],
} as const;
