// What is on sale: one file is an endpoint, nothing is sold without a price, and a reload re-prices nothing that runs.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig } from "../gateway/src/config/load-config.ts";
import type { OfferedOperation } from "../gateway/src/offer/offer.ts";
import { loadCatalogue } from "../gateway/src/operation/catalogue.ts";
import { isSold } from "../gateway/src/operation/operation.ts";
import { openFinancialDatasetsDouble } from "./doubles/financialdatasets.ts";
import { openVendorDouble, type Handler } from "./doubles/vendor-double.ts";
import {
  catalogueFolder,
  openTestGateway,
  projectFolder,
  type TestAccount,
  type TestGateway,
} from "./harness.ts";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A folder with one file in it: what an operator adds to sell one more thing. */
const folderWith = (price: string): string => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-offer-"));
  folders.push(folder);
  writeFileSync(
    join(folder, "weather.ts"),
    `import { defineOperation, fixed, z } from ${JSON.stringify(join(projectFolder, "gateway/src/operation/define-operation.ts"))};
     export const weatherToday = defineOperation({
       id: "weather.today",
       title: "Weather today",
       summary: "How it is outside.",
       category: "data",
       method: "GET",
       path: "/apis/v1/weather/{social_c}/today",
       query: z.looseObject({ city: z.string().min(1) }),
       price: ${price},
       servedBy: { financialdatasets: { exchange: "forward_query", path: "/weather/today" } },
     });`,
  );
  return folder;
};

const sunny: Handler = () => ({
  status: 200,
  headers: { "Content-Type": "application/json" },
  body: '{"sky":"blue"}',
});
const openWeather = () => openVendorDouble({ handlers: { "GET /weather/today": sunny } });
const weatherPath = "/apis/v1/weather/social_c/today?city=Ulm";

const viaFindata = (url: string, more = ""): string =>
  `upstreams: { findata: { protocol: financialdatasets, url: "${url}", key: fd-key-000000 } }\n${more}`;

const json = async <Shape>(response: Response | Promise<Response>): Promise<Shape> =>
  (await (await response).json()) as Shape;

interface Receipt {
  readonly operation_id: string;
  readonly status: string;
  readonly held_micros_usd: number;
  readonly charged_micros_usd: number;
  readonly price_version: string;
}

const receiptOf = (gateway: TestGateway, account: TestAccount, response: Response): Promise<Receipt> =>
  json(gateway.call(account, `/v1/requests/${response.headers.get("x-request-id")}`));

interface Quote {
  readonly estimated_cost_micros_usd: number;
  readonly max_cost_micros_usd: number;
  readonly price_version: string;
}

describe("one file in a catalogue folder is an endpoint", () => {
  test("with authentication, validation, price, quote, limits, usage and receipts", async () => {
    const double = await openWeather();
    const gateway = await openTestGateway({
      config: viaFindata(double.url, "tiers: { starter: { rpm: 6, tpm: 1000, concurrency: 1 } }"),
      catalogueFolders: [folderWith('fixed("0.0025", ({ json }) => json?.sky === "blue")')],
    });

    const stranger = await fetch(gateway.url + weatherPath);
    expect([stranger.status, (await json<{ code: string }>(stranger)).code]).toEqual([
      401,
      "missing_api_key",
    ]);

    const poor = await gateway.openAccount({ creditUsd: "0.0024" });
    const refused = await gateway.call(poor, weatherPath);
    expect(refused.status).toBe(402);
    expect((await json<{ error: object }>(refused)).error).toMatchObject({
      code: "insufficient_balance",
      estimated_micros_usd: 2_500,
      limit_micros_usd: 2_400,
    });

    const account = await gateway.openAccount({ tier: "starter" });
    expect((await gateway.call(account, "/apis/v1/weather/social_c/today")).status).toBe(400);
    const quoted = await gateway.call(account, weatherPath, { headers: { "x-tollgate-cost-mode": "quote" } });
    const quote = await json<Quote>(quoted);
    expect(quote).toMatchObject({ estimated_cost_micros_usd: 2_500, max_cost_micros_usd: 2_500 });
    expect(double.requests).toHaveLength(0);

    const served = await gateway.call(account, weatherPath);
    expect([served.status, await served.text()]).toEqual([200, '{"sky":"blue"}']);
    expect(double.requests.map(({ target }) => target)).toEqual(["/weather/today?city=Ulm"]);
    expect(served.headers.get("x-tollgate-cost-micros-usd")).toBe("2500");
    expect(served.headers.get("x-ratelimit-limit-requests")).toBe("6");
    expect(await gateway.balance(account)).toEqual({ balance: 1_997_500, held: 0 });
    expect(await receiptOf(gateway, account, served)).toMatchObject({
      operation_id: "weather.today",
      status: "settled",
      held_micros_usd: 2_500,
      charged_micros_usd: 2_500,
      price_version: quote.price_version,
    });
    const report = await gateway.call(account, `/v1/usage?start_time=${Math.floor(Date.now() / 1000) - 60}`);
    expect((await json<{ totals: object }>(report)).totals).toMatchObject({
      requests: 1,
      failed_requests: 0,
      charged_micros_usd: 2_500,
    });

    await gateway.call(account, weatherPath);
    const limited = await gateway.call(account, weatherPath);
    expect(limited.status).toBe(429);
    expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(double.requests).toHaveLength(2);
    expect(await gateway.audit()).toEqual([]);
    await gateway.close();
    await double.close();
  });

  test("that is not served while it has no price, and says so to the operator", async () => {
    const double = await openWeather();
    const unpriced = '{ kind: "per_unit", unit: "call", usd: "", requested: () => 1, delivered: () => 1 }';
    const gateway = await openTestGateway({
      config: viaFindata(double.url),
      catalogueFolders: [folderWith(unpriced)],
    });
    const account = await gateway.openAccount();
    for (const headers of [{}, { "x-tollgate-cost-mode": "quote" }]) {
      const response = await gateway.call(account, weatherPath, { headers });
      expect(response.status).toBe(503);
      expect(await json<unknown>(response)).toEqual({
        error: {
          code: "billing_config_invalid",
          message: "This operation has no price yet, so it cannot be served.",
          retryable: false,
          request_id: response.headers.get("x-request-id"),
        },
      });
    }
    expect(double.requests).toHaveLength(0);
    expect(gateway.gateway.offer().gaps).toContain("weather.today: no price");
    await gateway.close();
    await double.close();
  });

  test("whose price the configuration sets: 0, written down, is free and served", async () => {
    const double = await openWeather();
    const folder = folderWith('fixed("0.0025")');
    for (const [written, charged] of [
      ["0", 0],
      ["0.01", 10_000],
      ['"0.0000001"', 0],
    ] as const) {
      const gateway = await openTestGateway({
        config: viaFindata(double.url, `operations: { weather.today: { price_usd: ${written} } }`),
        catalogueFolders: [folder],
      });
      const account = await gateway.openAccount({ creditUsd: charged === 0 ? "0.000001" : "1" });
      const response = await gateway.call(account, weatherPath);
      expect([response.status, response.headers.get("x-tollgate-cost-micros-usd")]).toEqual([
        200,
        String(charged),
      ]);
      expect((await receiptOf(gateway, account, response)).status).toBe("settled");
      const broke = await gateway.openAccount({ creditUsd: "0" });
      // A tenth of a micro is a price: it is held as a whole one.
      expect((await gateway.call(broke, weatherPath)).status).toBe(written === "0" ? 200 : 402);
      expect(await gateway.audit()).toEqual([]);
      await gateway.close();
    }
    await double.close();
  });

  test("that is not a route when nobody serves it", async () => {
    const gateway = await openTestGateway({
      config: "sandbox: off",
      catalogueFolders: [folderWith('fixed("0.0025")')],
    });
    const account = await gateway.openAccount();
    expect((await gateway.call(account, weatherPath)).status).toBe(404);
    expect(gateway.gateway.offer().routes.all.some(({ operation }) => isSold(operation))).toBe(false);
    expect(gateway.gateway.offer().gaps).toContain(
      "weather.today: no upstream serves it and the sandbox is off",
    );
    await gateway.close();
  });
});

describe("models", () => {
  interface Listed {
    readonly data: readonly {
      readonly id: string;
      readonly price_usd_per_million_tokens: Readonly<Record<string, string>>;
      readonly max_output_tokens: number | null;
    }[];
  }

  test("are listed with their prices, and one without a price is neither listed nor served", async () => {
    const gateway = await openTestGateway({
      config: `
upstreams:
  openai: { protocol: openai, url: "http://127.0.0.1:9/v1", key: sk-key-000000 }
  jina: { protocol: jina, url: "http://127.0.0.1:9/v1", key: jina-key-000000 }
models:
  gpt-x: { via: [openai], price: { input: 2.5, cache_read: 0.25, output: 10 }, max_output_tokens: 16384 }
  gpt-4o: { price: { input: 3, output: 12 } }
  free-x: { via: [openai], price: { input: 0, output: 0 } }
  mystery: { via: [openai] }
`,
    });
    const account = await gateway.openAccount();
    const { data } = await json<Listed>(gateway.call(account, "/v1/models"));
    const priceOf = (id: string) => data.find((model) => model.id === id)?.price_usd_per_million_tokens;
    // Cached tokens without a price of their own cost what input costs.
    const written = { input: "2.5", cache_read: "0.25", output: "10" };
    expect(priceOf("gpt-x")).toEqual({ ...written, cache_write: "2.5", cache_write_1h: "2.5" });
    expect(priceOf("gpt-4o")).toMatchObject({ input: "3", output: "12" });
    expect(priceOf("free-x")).toMatchObject({ input: "0", output: "0" });
    expect(priceOf("jina-reranker-v3")).toEqual({ input: "0.05" });
    expect(priceOf("mystery")).toBeUndefined();
    expect(data.find(({ id }) => id === "gpt-x")?.max_output_tokens).toBe(16_384);

    const asked = { model: "mystery", messages: [{ role: "user", content: "hi" }] };
    const response = await gateway.post(account, "/v1/chat/completions", asked);
    expect([response.status, (await json<{ error: { code: string } }>(response)).error.code]).toEqual([
      404,
      "model_not_found",
    ]);
    expect(gateway.gateway.offer().gaps).toContain("models.mystery: no price, so it is not offered");
    expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
    await gateway.close();
  });
});

test("names of the configuration stand in paths and header names; operation ids stay", async () => {
  const gateway = await openTestGateway({
    config: "names: { social_c: chirp, reseller: wholesale, provider: Acme }",
  });
  const account = await gateway.openAccount();
  const path = "/apis/v1/wholesale/chirp/web/fetch_tag_detail?tag_name=fox";
  const quoted = await gateway.call(account, path, { headers: { "X-Acme-Cost-Mode": "quote" } });
  expect(await json<object>(quoted)).toMatchObject({
    object: "cost_estimate",
    estimated_cost_micros_usd: 1_450,
  });
  const capped = await gateway.call(account, path, { headers: { "X-Acme-Max-Price-USD": "0.001" } });
  expect(capped.status).toBe(402);

  const served = await gateway.call(account, path);
  expect(served.status).toBe(200);
  expect([served.headers.get("x-acme-cost-micros-usd"), served.headers.get("x-acme-upstream")]).toEqual([
    "1450",
    "sandbox",
  ]);
  expect([...served.headers.keys()].filter((name) => name.includes("tollgate"))).toEqual([]);
  expect((await receiptOf(gateway, account, served)).operation_id).toBe("reseller.social_c.tag_detail");
  for (const old of [
    "/apis/v1/reseller/chirp",
    "/apis/v1/wholesale/social_c",
    "/apis/v1/{reseller}/{social_c}",
  ]) {
    expect((await gateway.call(account, `${old}/web/fetch_tag_detail?tag_name=fox`)).status).toBe(404);
  }
  await gateway.close();
});

describe("a reload", () => {
  test("re-prices the next call and re-routes it, never the one that is running", async () => {
    let answer = (): void => {};
    let arrived = (): void => {};
    const waiting = new Promise<void>((resolve) => (arrived = resolve));
    const slow = await openVendorDouble({
      handlers: {
        "*": async () => {
          arrived();
          await new Promise<void>((resolve) => (answer = resolve));
          return { status: 200, body: '{"snapshot":{"ticker":"OLD"}}' };
        },
      },
    });
    const next = await openFinancialDatasetsDouble({ key: "fd-key-000000" });
    const pricedAt = (url: string, usd: string): string =>
      viaFindata(url, `operations: { financial.metrics.snapshot: { price_usd: ${usd} } }`);
    const path = "/apis/v1/financial/financial-metrics/snapshot?ticker=AAPL";

    const gateway = await openTestGateway({ config: pricedAt(slow.url, "0.048") });
    const account = await gateway.openAccount();
    const running = gateway.call(account, path);
    await waiting;
    expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 48_000 });
    await gateway.gateway.reload(
      await loadCatalogue([catalogueFolder]),
      parseConfig(pricedAt(next.url, "0.1"), "the next configuration", {}),
      gateway.sandbox.url,
    );
    const after = await gateway.call(account, path);
    expect(await gateway.balance(account)).toEqual({ balance: 1_900_000, held: 48_000 });
    answer();
    const before = await running;

    expect(await before.text()).toContain("OLD");
    const [old, fresh] = [
      await receiptOf(gateway, account, before),
      await receiptOf(gateway, account, after),
    ];
    expect([old.held_micros_usd, old.charged_micros_usd]).toEqual([48_000, 48_000]);
    expect([fresh.held_micros_usd, fresh.charged_micros_usd]).toEqual([100_000, 100_000]);
    expect(fresh.price_version).not.toBe(old.price_version);
    expect([slow.requests.length, next.requests.length]).toEqual([1, 1]);
    expect(await gateway.balance(account)).toEqual({ balance: 1_852_000, held: 0 });
    expect(await gateway.audit()).toEqual([]);
    await gateway.close();
    await Promise.all([slow.close(), next.close()]);
  });

  test("to equal prices keeps the price version", async () => {
    const gateway = await openTestGateway();
    const account = await gateway.openAccount();
    const quote = () =>
      json<Quote>(
        gateway.call(account, "/apis/v1/financial/financial-metrics/snapshot?ticker=AAPL", {
          headers: { "x-tollgate-cost-mode": "quote" },
        }),
      );
    const before = await quote();
    await gateway.gateway.reload(
      await loadCatalogue([catalogueFolder]),
      parseConfig("operations: { financial.metrics.snapshot: { price_usd: 0.048 } }", "the next", {}),
      gateway.sandbox.url,
    );
    expect((await quote()).price_version).toBe(before.price_version);
    await gateway.close();
  });
});

// A new sold operation needs its line here: the smallest request that is valid.
const smallestRequests: Readonly<Record<string, { readonly query?: string; readonly body?: object }>> = {
  "chat.completions.create": {
    body: { model: "gpt-4o", messages: [{ role: "user", content: "" }], max_tokens: 1 },
  },
  "rerank.create": { body: { query: "a", documents: ["b"] } },
  "financial.metrics.snapshot": { query: "ticker=A" },
  "reseller.social_c.creator_search_insights_videos": { query: "keyword=a" },
  "reseller.social_c.search_word_suggestion": { query: "search_word=a" },
  "reseller.social_c.tag_detail": { query: "tag_name=a" },
  "reseller.social_b.user_stories": { query: "username=a" },
};

describe("no route exists", () => {
  const open = async () => {
    const gateway = await openTestGateway();
    const routes = gateway.gateway.offer().routes.all;
    expect(routes.length).toBeGreaterThan(10);
    return { gateway, routes, sold: routes.filter(({ operation }) => isSold(operation)) };
  };

  const send = (
    gateway: TestGateway,
    account: TestAccount,
    { operation, path }: OfferedOperation,
    headers = {},
  ) => {
    const smallest = smallestRequests[operation.id];
    if (isSold(operation) && !smallest) throw new Error(`smallestRequests lacks ${operation.id}`);
    const target =
      path.replace(/\{\w+\}/g, "x") + (smallest?.query === undefined ? "" : `?${smallest.query}`);
    if (operation.method === "GET") return gateway.call(account, target, { headers });
    return gateway.post(account, target, smallest?.body ?? {}, headers);
  };

  test("without authentication", async () => {
    const { gateway, routes } = await open();
    for (const { operation, path } of routes) {
      const target = gateway.url + path.replace(/\{\w+\}/g, "x");
      for (const headers of [{}, { authorization: "Bearer tgk_nobody" }]) {
        const response = await fetch(target, { method: operation.method, headers });
        // The specification lets the web-traffic operation hide itself.
        const expected = operation.id.startsWith("traffic_analytics.") ? 404 : 401;
        expect([operation.id, response.status]).toEqual([operation.id, expected]);
      }
    }
    expect(await gateway.sandbox.book()).toEqual([]);
    await gateway.close();
  });

  test("without a price that is written down", async () => {
    const { gateway, routes } = await open();
    for (const { operation, terms, models } of routes) {
      const { kind } = operation.price;
      const prices = kind === "per_token" ? [...models.values()].map((model) => model.terms) : [terms];
      if (!isSold(operation)) expect([operation.id, kind]).toEqual([operation.id, "free"]);
      else {
        expect(prices.length).toBeGreaterThan(0);
        for (const price of prices) expect(Object.keys(price?.unitPricesPico ?? {})).not.toEqual([]);
      }
    }
    expect(gateway.gateway.offer().gaps).toEqual([]);
    await gateway.close();
  });

  test("without rate-limit headers", async () => {
    const { gateway, routes } = await open();
    const account = await gateway.openAccount();
    for (const offered of routes) {
      const response = await send(gateway, account, offered);
      const names = ["limit", "remaining", "reset"].map((part) => `x-ratelimit-${part}-requests`);
      expect([offered.operation.id, ...names.filter((name) => !response.headers.has(name))]).toEqual([
        offered.operation.id,
      ]);
    }
    await gateway.close();
  });

  test("that spends without a hold: with nothing on the account each is refused, and no upstream hears of it", async () => {
    const { gateway, sold } = await open();
    expect(sold.map(({ operation }) => operation.id).toSorted()).toEqual(
      Object.keys(smallestRequests).toSorted(),
    );
    const poor = await gateway.openAccount({ creditUsd: "0" });
    for (const offered of sold) {
      const { id } = offered.operation;
      const quoted = await send(gateway, poor, offered, { "x-tollgate-cost-mode": "quote" });
      expect((await json<Quote>(quoted)).max_cost_micros_usd).toBeGreaterThan(0);
      const response = await send(gateway, poor, offered);
      const { error } = await json<{ error: { code: string } }>(response);
      expect([id, response.status, error.code]).toEqual([id, 402, "insufficient_balance"]);
    }
    expect(await gateway.sandbox.book()).toEqual([]);

    const rich = await gateway.openAccount();
    for (const offered of sold) {
      const response = await send(gateway, rich, offered);
      const { id } = offered.operation;
      expect([id, response.status]).toEqual([id, 200]);
      expect((await receiptOf(gateway, rich, response)).held_micros_usd).toBeGreaterThan(0);
    }
    expect(await gateway.sandbox.book()).toHaveLength(sold.length);
    expect(await gateway.audit()).toEqual([]);
    await gateway.close();
  });
});
