// financialdatasets.ai: one snapshot of plausible figures per company, the same every time.

import { createSeeded } from "../seeded.ts";
import type { JsonObject, Vendor, VendorAnswer } from "../vendor.ts";

export function createFinancialDatasets({ key }: { key: string }): Vendor {
  const answer: Vendor["answer"] = ({ method, path, query, headers }) => {
    if (headers.get("x-api-key") !== key) return refuse(401, "Missing or invalid API key");
    // Clients of this vendor are seen with and without the slash.
    if (path.replace(/\/$/, "") !== "/financial-metrics/snapshot")
      return refuse(404, `Path ${path} not found`);
    if (method !== "GET") return refuse(405, `Method ${method} not allowed`);

    const ticker = query.get("ticker")?.toUpperCase();
    const cik = query.get("cik")?.toUpperCase();
    if (!ticker && !cik) return refuse(400, "Either ticker or cik is required");
    if (ticker?.startsWith("MISSING")) return refuse(404, `Ticker ${query.get("ticker")} not found`);
    if (!ticker && cik?.startsWith("MISSING")) return refuse(404, `CIK ${query.get("cik")} not found`);

    return {
      status: 200,
      body: { snapshot: snapshotOf(ticker || tickerOfCik(cik ?? "")) },
      billed: { calls: 1 },
    };
  };
  return { answer, refuse };
}

const refuse = (status: number, message: string): VendorAnswer => ({
  status,
  body: { error: errorNames[status] ?? "Error", message },
  billed: null,
});

const errorNames: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  402: "Payment Required",
  404: "Not Found",
  405: "Method Not Allowed",
  429: "Too Many Requests",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

function snapshotOf(ticker: string): JsonObject {
  const seeded = createSeeded(`financial ${ticker}`);
  const figures = Object.entries(ranges).map(
    ([name, [from, to]]) => [name, seeded.decimal({ from, to, places: 4 })] as const,
  );
  const marketCap = seeded.integer({ from: 300_000_000, to: 3_000_000_000_000 });
  const netDebtShare = seeded.decimal({ from: -0.1, to: 0.4, places: 3 });

  return {
    ticker,
    market_cap: marketCap,
    enterprise_value: Math.round(marketCap * (1 + netDebtShare)),
    ...Object.fromEntries(figures),
  };
}

/** The registry keys people try first; any other company gets a made-up ticker. */
function tickerOfCik(cik: string): string {
  const known = knownTickers[cik.replace(/^0+/, "")];
  if (known !== undefined) return known;
  const seeded = createSeeded(`cik ${cik}`);
  return Array.from({ length: 4 }, () => String.fromCharCode(seeded.integer({ from: 65, to: 90 }))).join("");
}

const knownTickers: Readonly<Record<string, string>> = {
  "320193": "AAPL",
  "789019": "MSFT",
  "1018724": "AMZN",
  "1045810": "NVDA",
  "1318605": "TSLA",
  "1652044": "GOOGL",
};

const ranges = {
  price_to_earnings_ratio: [6, 60],
  price_to_book_ratio: [0.8, 45],
  price_to_sales_ratio: [0.5, 20],
  enterprise_value_to_ebitda_ratio: [4, 40],
  enterprise_value_to_revenue_ratio: [0.5, 18],
  free_cash_flow_yield: [0.005, 0.12],
  peg_ratio: [0.3, 4],
  gross_margin: [0.15, 0.85],
  operating_margin: [0.02, 0.45],
  net_margin: [0.01, 0.35],
  return_on_equity: [0.02, 1.5],
  return_on_assets: [0.01, 0.3],
  return_on_invested_capital: [0.02, 0.6],
  asset_turnover: [0.2, 2.5],
  inventory_turnover: [1, 50],
  receivables_turnover: [3, 30],
  days_sales_outstanding: [10, 100],
  operating_cycle: [15, 180],
  working_capital_turnover: [-40, 40],
  current_ratio: [0.5, 4],
  quick_ratio: [0.3, 3.5],
  cash_ratio: [0.05, 2],
  operating_cash_flow_ratio: [0.1, 2],
  debt_to_equity: [0, 4],
  debt_to_assets: [0, 0.9],
  interest_coverage: [1, 60],
  revenue_growth: [-0.2, 0.8],
  earnings_growth: [-0.4, 1.2],
  book_value_growth: [-0.2, 0.6],
  earnings_per_share_growth: [-0.4, 1.2],
  free_cash_flow_growth: [-0.5, 1],
  operating_income_growth: [-0.4, 1],
  ebitda_growth: [-0.3, 0.9],
  payout_ratio: [0, 0.9],
  earnings_per_share: [-2, 40],
  book_value_per_share: [1, 200],
  free_cash_flow_per_share: [-1, 30],
} as const satisfies Record<string, readonly [from: number, to: number]>;
