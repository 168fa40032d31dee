import { expect, test } from "bun:test";
import { anyNumber, anyString, createTestSandbox } from "../test-sandbox.ts";

const path = "/similarweb/website-analysis/websites/traffic-and-engagement";
const query = "?domain=example.com&metrics=visits,bounce_rate,visits&start_date=2025-12&end_date=2026-02";

test("a month is a row with a figure for each metric, the same every time", async () => {
  const { ask, book } = createTestSandbox();
  const { status, json } = await ask("GET", path + query);
  expect(status).toBe(200);
  expect(json).toEqual({
    meta: {
      request: {
        format: "json",
        domain: "example.com",
        granularity: "monthly",
        country: "ww",
        start_date: "2025-12-01",
        end_date: "2026-02-28",
        web_source: "total",
        metrics: ["visits", "bounce_rate"],
        state: null,
        mtd: false,
        main_domain_only: true,
      },
      status: "success",
      last_updated: anyString,
    },
    data: ["2025-12-01", "2026-01-01", "2026-02-01"].map((date) => ({
      date,
      visits: anyNumber,
      bounce_rate: anyNumber,
    })),
  });
  expect((await createTestSandbox().ask("GET", path + query)).json).toEqual(json);
  expect(book.read().entries[0]?.billed).toEqual({ credits: 6 });
});

test("refuses in the vendor's shape; of a website it does not know it has no data; neither is billed", async () => {
  const { ask, book } = createTestSandbox();
  for (const wrong of [
    "",
    "?domain=a.com",
    query.replace("2025-12", "2025-13"),
    query.replace("2025-12", "2026-03"),
    query.replace("2025-12", "2016-02"),
    query.replace("bounce_rate", "luck"),
    query.replace(/metrics=[^&]*/, "metrics="),
  ]) {
    expect(await ask("GET", path + wrong)).toMatchObject({
      status: 400,
      json: { meta: { status: "error", error_message: anyString } },
    });
  }
  expect((await ask("GET", path + query, { headers: {} })).status).toBe(401);
  expect((await ask("GET", "/similarweb/other")).status).toBe(404);
  expect(await ask("GET", path + query.replace("example", "missing"))).toMatchObject({
    status: 200,
    json: { data: [] },
  });
  expect(book.read().entries.every(({ billed }) => billed === null)).toBe(true);
});
