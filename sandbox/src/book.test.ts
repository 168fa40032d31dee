import { describe, expect, test } from "bun:test";
import { createBook } from "./book.ts";
import { at, createTestSandbox, startMs } from "./test-sandbox.ts";

const arrival = {
  atMs: 1,
  vendor: "jina",
  method: "POST",
  path: "/rerank",
  query: "",
  headers: new Headers(),
};

describe("book", () => {
  test("a call is booked with what the vendor bills, and with names of headers but no values", async () => {
    const { ask } = createTestSandbox();
    await ask("GET", "/financialdatasets/financial-metrics/snapshot?ticker=AAPL", {
      headers: { "x-api-key": "sandbox", "X-Request-Id": "r1", "b-header": "secret value" },
    });
    await ask("POST", "/jina/rerank", { body: "{" });

    const { json } = await ask("GET", "/_control/book");
    expect(at(json, "count")).toBe(2);
    expect(at(json, "entries", 1)).toMatchObject({
      n: 2,
      vendor: "jina",
      request_id: null,
      status: 422,
      billed: null,
    });
    expect(at(json, "entries", 0)).toEqual({
      n: 1,
      at_ms: startMs,
      vendor: "financialdatasets",
      method: "GET",
      path: "/financial-metrics/snapshot",
      query: "?ticker=AAPL",
      request_id: "r1",
      status: 200,
      billed: { calls: 1 },
      headers_seen: ["b-header", "x-api-key", "x-request-id"],
    });
  });

  test("can be read for one vendor, and cleared", async () => {
    const { ask } = createTestSandbox();
    await ask("GET", "/openai/models");
    await ask("GET", "/tikhub/nowhere");
    expect((await ask("GET", "/_control/book?vendor=tikhub")).json).toMatchObject({
      entries: [{ n: 2, status: 404 }],
      count: 1,
    });

    expect((await ask("DELETE", "/_control/book")).status).toBe(204);
    expect((await ask("GET", "/_control/book")).json).toEqual({ entries: [], count: 0 });
  });

  test("holds a call from its arrival, before and without an answer", () => {
    const book = createBook();
    const answered = book.arrive(arrival);
    expect(book.read().entries[0]).toMatchObject({ status: null, billed: null });
    answered({ status: 200, billed: { tokens: 3 } });
    expect(book.read().entries[0]).toMatchObject({ status: 200, billed: { tokens: 3 } });
  });

  test("keeps the newest entries and counts all of them", () => {
    const book = createBook({ entriesMax: 3 });
    const outcomes = Array.from({ length: 5 }, () => book.arrive(arrival));
    outcomes[0]?.({ status: 500, billed: null });
    const { entries, count } = book.read();
    expect(count).toBe(5);
    expect(entries.map(({ n, status }) => [n, status])).toEqual([
      [3, null],
      [4, null],
      [5, null],
    ]);
  });

  test("control paths ask for their token when there is one", async () => {
    const { ask } = createTestSandbox({ controlToken: "t" });
    expect((await ask("GET", "/_control/book")).status).toBe(403);
    const { status, json } = await ask("GET", "/_control/book", { headers: { "x-sandbox-control": "t" } });
    expect([status, at(json, "count")]).toEqual([200, 0]);
  });

  test("neither control nor public nor unknown vendors are booked", async () => {
    const { ask, book } = createTestSandbox();
    expect((await ask("GET", "/nobody/x")).status).toBe(404);
    expect((await ask("GET", "/public/reseller-cache/x")).status).toBe(404);
    expect((await ask("GET", "/_control/nothing")).status).toBe(404);
    expect((await ask("GET", "/")).status).toBe(404);
    expect(book.read().count).toBe(0);
  });
});
