import { defineOperation, fixed, z } from "../gateway/src/operation/define-operation.ts";

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

/** A proxy's page or an empty object can come with a 200 too; what is paid for is a snapshot. */
const holdsSnapshot = ({ json }: { readonly json: unknown }): boolean =>
  typeof json === "object" &&
  json !== null &&
  "snapshot" in json &&
  typeof json.snapshot === "object" &&
  json.snapshot !== null;

export const financialMetricsSnapshot = defineOperation({
  id: "financial.metrics.snapshot",
  title: "Financial metrics snapshot",
  summary: "Current valuation, margins, returns, liquidity and growth of a company.",
  keywords: ["stock", "fundamentals", "market cap", "P/E ratio", "valuation ratios", "debt", "equity"],
  category: "data",
  method: "GET",
  path: "/apis/v1/financial/financial-metrics/snapshot",
  query: snapshotQuery,
  price: fixed("0.048", holdsSnapshot),
  servedBy: { financialdatasets: { exchange: "forward_query", path: "/financial-metrics/snapshot" } },
});
