import { expect, test } from "bun:test";
import { anyNumber, anyString, at, createTestSandbox } from "../test-sandbox.ts";

const path = "/financialdatasets/financial-metrics/snapshot";
// Copied from the specification, to compare with.
const fields =
  "market_cap enterprise_value price_to_earnings_ratio price_to_book_ratio price_to_sales_ratio enterprise_value_to_ebitda_ratio enterprise_value_to_revenue_ratio free_cash_flow_yield peg_ratio gross_margin operating_margin net_margin return_on_equity return_on_assets return_on_invested_capital asset_turnover inventory_turnover receivables_turnover days_sales_outstanding operating_cycle working_capital_turnover current_ratio quick_ratio cash_ratio operating_cash_flow_ratio debt_to_equity debt_to_assets interest_coverage revenue_growth earnings_growth book_value_growth earnings_per_share_growth free_cash_flow_growth operating_income_growth ebitda_growth payout_ratio earnings_per_share book_value_per_share free_cash_flow_per_share".split(
    " ",
  );

test("a snapshot has every field of the specification as a number, the same every time", async () => {
  const { ask } = createTestSandbox();
  const { status, json } = await ask("GET", `${path}?ticker=aapl`);
  expect(status).toBe(200);
  expect(json).toEqual({
    snapshot: { ticker: "AAPL", ...Object.fromEntries(fields.map((field) => [field, anyNumber])) },
  });
  expect((await createTestSandbox().ask("GET", `${path}/?ticker=AAPL`)).json).toEqual(json);
  expect((await ask("GET", `${path}?ticker=MSFT`)).json).not.toEqual(json);
});

test("a registry key stands for its ticker", async () => {
  const { ask } = createTestSandbox();
  expect((await ask("GET", `${path}?cik=0000320193`)).json).toEqual(
    (await ask("GET", `${path}?ticker=AAPL`)).json,
  );
  expect(at((await ask("GET", `${path}?cik=1234`)).json, "snapshot", "ticker")).toMatch(/^[A-Z]{4}$/);
});

test("refuses in the vendor's shape, and bills nothing", async () => {
  const { ask, book } = createTestSandbox();
  expect(await ask("GET", `${path}?ticker=MISSINGX`)).toMatchObject({
    status: 404,
    json: { error: "Not Found", message: "Ticker MISSINGX not found" },
  });
  expect(await ask("GET", path)).toMatchObject({
    status: 400,
    json: { error: "Bad Request", message: anyString },
  });
  expect(await ask("GET", `${path}?ticker=A`, { headers: {} })).toMatchObject({
    status: 401,
    json: { error: "Unauthorized" },
  });
  expect((await ask("GET", "/financialdatasets/prices")).status).toBe(404);
  expect(book.read().entries.every(({ billed }) => billed === null)).toBe(true);
});
