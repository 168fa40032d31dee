import { defineOperation, fixed, isJsonObject, z } from "../gateway/src/for-catalogues.ts";

const snapshotQuery = z
  .looseObject({
    ticker: z.string().min(1, "must not be empty").optional().describe("Company ticker symbol."),
    cik: z
      .string()
      .min(1, "must not be empty")
      .optional()
      .describe("Company registry key, instead of a ticker."),
  })
  .refine(({ ticker, cik }) => (ticker === undefined) !== (cik === undefined), {
    error: "expected exactly one of ticker, cik",
  });

/** What is paid for is a snapshot: a proxy's page or an empty object can come with a 200, too. */
const holdsSnapshot = ({ json }: { readonly json: unknown }): boolean =>
  isJsonObject(json) && isJsonObject(json["snapshot"]);

/** The vendor leaves out, or sets to null, what a company does not report. */
const figure = z.number().nullish();

const snapshot = z
  .looseObject({
    ticker: z.string().nullish(),
    market_cap: figure,
    enterprise_value: figure,
    price_to_earnings_ratio: figure,
    price_to_book_ratio: figure,
    price_to_sales_ratio: figure,
    enterprise_value_to_ebitda_ratio: figure,
    enterprise_value_to_revenue_ratio: figure,
    free_cash_flow_yield: figure,
    peg_ratio: figure,
    gross_margin: figure,
    operating_margin: figure,
    net_margin: figure,
    return_on_equity: figure,
    return_on_assets: figure,
    return_on_invested_capital: figure,
    asset_turnover: figure,
    inventory_turnover: figure,
    receivables_turnover: figure,
    days_sales_outstanding: figure,
    operating_cycle: figure,
    working_capital_turnover: figure,
    current_ratio: figure,
    quick_ratio: figure,
    cash_ratio: figure,
    operating_cash_flow_ratio: figure,
    debt_to_equity: figure,
    debt_to_assets: figure,
    interest_coverage: figure,
    revenue_growth: figure,
    earnings_growth: figure,
    book_value_growth: figure,
    earnings_per_share_growth: figure,
    free_cash_flow_growth: figure,
    operating_income_growth: figure,
    ebitda_growth: figure,
    payout_ratio: figure,
    earnings_per_share: figure,
    book_value_per_share: figure,
    free_cash_flow_per_share: figure,
  })
  .meta({ id: "FinancialSnapshot" });

export const financialMetricsSnapshot = defineOperation({
  id: "financial.metrics.snapshot",
  title: "Financial metrics snapshot",
  summary: "Current valuation, margins, returns, liquidity and growth of a company.",
  keywords: [
    "stock",
    "fundamentals",
    "market cap",
    "P/E ratio",
    "valuation ratios",
    "debt",
    "equity",
    "earnings",
    "dividend payout",
    "cash flow yield",
  ],
  category: "data",
  method: "GET",
  path: "/apis/v1/financial/financial-metrics/snapshot",
  query: snapshotQuery,
  notes: "Exactly one of `ticker` and `cik` is required.",
  response: z.looseObject({ snapshot }).meta({ id: "FinancialSnapshotAnswer" }),
  example: { query: { ticker: "AAPL" } },
  price: fixed("0.048", holdsSnapshot),
  servedBy: { financialdatasets: { exchange: "forward_query", path: "/financial-metrics/snapshot" } },
});
