// financialdatasets.ai: one GET, key in X-API-KEY, flat price per 2xx.

import type { Answer } from "./scripted-answer.ts";
import { openVendorDouble } from "./vendor-double.ts";
import type { Handler } from "./vendor-double.ts";
import { hasHeader, jsonAnswer, queryOf, resolveOverride } from "./vendor-checks.ts";
import type { BookEntry, BookkeepingDouble, JsonValue, Override } from "./vendor-checks.ts";

export interface FinancialDatasetsBilled {
  readonly calls: 1;
}

interface Company {
  readonly ticker: string;
  readonly cik: string;
}

export interface FinancialDatasetsOptions {
  readonly key: string;
  readonly companies?: readonly Company[];
  /** Replaces `snapshot`. */
  readonly snapshot?: Override<Company>;
}

export const openFinancialDatasetsDouble = async ({
  key,
  companies = [
    { ticker: "AAPL", cik: "0000320193" },
    { ticker: "MSFT", cik: "0000789019" },
  ],
  snapshot,
}: FinancialDatasetsOptions): Promise<BookkeepingDouble<FinancialDatasetsBilled>> => {
  const book: BookEntry<FinancialDatasetsBilled>[] = [];

  const metrics: Handler = (request) => {
    if (!hasHeader(request, { name: "X-API-KEY", value: key })) {
      return refuse(401, { error: "Unauthorized", message: "Invalid API key" });
    }
    const query = queryOf(request);
    const [ticker, cik] = [query.get("ticker"), query.get("cik")];
    if (!ticker && !cik) {
      return refuse(400, { error: "Bad Request", message: "Provide a ticker or a cik" });
    }
    const company = companies.find((known) => (ticker ? known.ticker === ticker : known.cik === cik));
    if (!company) {
      const message = ticker ? `Ticker ${ticker} not found` : `CIK ${cik} not found`;
      return refuse(404, { error: "Not Found", message });
    }

    book.push({ requestId: null, billed: { calls: 1 }, request });
    const honest = metricsOf(company);
    return jsonAnswer(200, {
      snapshot: resolveOverride({ override: snapshot, input: company, honest }),
    });
  };

  const double = await openVendorDouble({
    handlers: {
      [`GET ${metricsPath}`]: metrics,
      // Clients that write the slash are sent on; a gateway must write the address without it.
      [`GET ${metricsPath}/`]: ({ target }) => ({
        status: 307,
        headers: { Location: target.replace(`${metricsPath}/`, metricsPath) },
      }),
      "*": () => refuse(404, { error: "Not Found", message: "No such endpoint" }),
    },
  });
  return { ...double, book };
};

const metricsPath = "/financial-metrics/snapshot";

const refuse = (status: number, body: { readonly error: string; readonly message: string }): Answer =>
  jsonAnswer(status, { ...body });

// Only some of the metrics, and one null: the vendor promises none of them.
const metricsOf = ({ ticker }: Company): JsonValue => ({
  ticker,
  market_cap: 3_400_000_000_000,
  enterprise_value: 3_450_000_000_000,
  price_to_earnings_ratio: 34.25,
  gross_margin: 0.462,
  net_margin: 0.243,
  return_on_equity: 1.385,
  current_ratio: 0.87,
  peg_ratio: null,
  revenue_growth: -0.008,
  earnings_per_share: 6.59,
});
