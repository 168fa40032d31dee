// What is on sale: one file is an endpoint, nothing is sold without a price, and a reload re-prices nothing that runs.

import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig } from "../../gateway/src/config/load-config.ts";
import { createOffer } from "../../gateway/src/offer/create-offer.ts";
import { loadCatalogue } from "../../gateway/src/operation/catalogue.ts";
import { defineOperation, fixed } from "../../gateway/src/for-catalogues.ts";
import { isSold } from "../../gateway/src/operation/operation.ts";
import { json, type Quote } from "../support/answers.ts";
import { openFinancialDatasetsDouble } from "../doubles/financialdatasets.ts";
import { headerValues } from "../doubles/http-wire.ts";
import { openVendorDouble, type Handler } from "../doubles/vendor-double.ts";
import { gapsOf } from "../support/gaps.ts";
import { catalogueFolder, projectFolder } from "../support/project-folder.ts";
import { snapshotPath } from "../support/purchases.ts";
import { openTestGateway } from "../support/test-gateway.ts";

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
    `import { defineOperation, fixed, z } from ${JSON.stringify(join(projectFolder, "gateway/src/for-catalogues.ts"))};
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

describe("one file in a catalogue folder is an endpoint", () => {
  test("whose figures are bent into range where its vendor tells odd ones, and named", async () => {
    let said = "";
    const headers = { "Content-Type": "application/json" };
    const double = await openVendorDouble({
      handlers: { "GET /weather/today": () => ({ status: 200, headers, body: `{"days":${said}}` }) },
    });
    const perDay =
      '{ kind: "per_unit", unit: "day", usd: "0.01", requested: () => 3, delivered: ({ json }) => json.days }';
    const gateway = await openTestGateway({
      config: viaFindata(double.url),
      catalogueFolders: [folderWith(perDay)],
    });
    const account = await gateway.openAccount();
    for (const [figure, days, chargedMicros] of [
      ["2", 2, 20_000],
      ["1.5", 1, 10_000],
      ["-1", 0, 0],
      ['"2"', 3, 30_000],
      ["null", 3, 30_000],
      ["true", 3, 30_000],
      // What is above the hold is written off, and what no call could use is not believed.
      ["5", 5, 30_000],
      ["1e30", 3_000, 30_000],
    ] as const) {
      said = figure;
      const response = await gateway.call(account, weatherPath);
      expect([figure, response.status]).toEqual([figure, 200]);
      expect(await gateway.receipt(account, response)).toMatchObject({
        usage: { day: days },
        charged_micros_usd: chargedMicros,
      });
    }
    const log = gateway.logged.join("");
    for (const odd of ["fractional", "negative", "not a number", "absurd"])
      expect(log).toContain(`day is ${odd}`);
    expect(log).toContain("day are more than the call could use");
    expect(await gateway.audit()).toEqual([]);
    await gateway.close();
    await double.close();
  });

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
    expect(await gateway.receipt(account, served)).toMatchObject({
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
    expect(gapsOf(gateway.gateway.offer())).toContain("weather.today: no price");
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
      expect((await gateway.receipt(account, response)).status).toBe("settled");
      const broke = await gateway.openAccount({ creditUsd: "0" });
      // A tenth of a micro is a price: it is held as a whole one.
      expect((await gateway.call(broke, weatherPath)).status).toBe(written === "0" ? 200 : 402);
      expect(await gateway.audit()).toEqual([]);
      await gateway.close();
    }
    await double.close();
  });

  test("that takes no other operation's place: a path has one, and both are named", async () => {
    const config = parseConfig(viaFindata("http://127.0.0.1:9"), "tollgate.yaml", {});
    const offerWith = async (path: string, method = "GET") => {
      const mine = defineOperation({
        id: "weather.today",
        title: "Weather today",
        summary: "How it is outside.",
        category: "data",
        method: method === "GET" ? "GET" : "POST",
        path,
        price: fixed("0.01"),
        servedBy: { financialdatasets: { exchange: "forward_query", path: "/weather" } },
      });
      const { operations, models } = await loadCatalogue([catalogueFolder]);
      return createOffer({ operations: [...operations, mine], models }, config, "http://127.0.0.1:9");
    };
    for (const [path, theirs] of [
      ["/v1/models", "models.list"],
      ["/v1/requests/{number}", "requests.get"],
      ["/apis/v1/social_a/tweet/quotes", "social_a.tweet.quotes"],
    ] as const) {
      expect(await offerWith(path).catch(String)).toContain(
        `GET ${path}: weather.today has the path of ${theirs}; one path has one operation`,
      );
    }
    expect((await offerWith("/v1/models", "POST")).operations.has("weather.today")).toBe(true);
    expect((await offerWith("/v1/models/latest")).operations.has("weather.today")).toBe(true);
  });

  test("that is not a route when nobody serves it", async () => {
    const gateway = await openTestGateway({
      config: "sandbox: off",
      catalogueFolders: [folderWith('fixed("0.0025")')],
    });
    const account = await gateway.openAccount();
    expect((await gateway.call(account, weatherPath)).status).toBe(404);
    expect(gateway.gateway.offer().routes.all.some(({ operation }) => isSold(operation))).toBe(false);
    // Nobody can be sent to a platform that is not there; links of earlier days can still be seen and ended.
    expect((await gateway.post(account, "/apis/v1/social_a/auth_social_a", {})).status).toBe(404);
    expect((await gateway.call(account, "/apis/v1/social_a/links")).status).toBe(200);
    expect(gapsOf(gateway.gateway.offer())).toContain(
      "weather.today: no upstream serves it and the sandbox is off",
    );
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
  expect((await gateway.receipt(account, served)).operation_id).toBe("reseller.social_c.tag_detail");
  for (const old of [
    "/apis/v1/reseller/chirp",
    "/apis/v1/wholesale/social_c",
    "/apis/v1/{reseller}/{social_c}",
  ]) {
    expect((await gateway.call(account, `${old}/web/fetch_tag_detail?tag_name=fox`)).status).toBe(404);
  }
  await gateway.close();
});

test("a quote or a cap that is asked for by our own name is no purchase, whatever the operator's is", async () => {
  const gateway = await openTestGateway({ config: "names: { provider: Acme }" });
  const account = await gateway.openAccount();
  const quoted = await gateway.call(account, snapshotPath, { headers: { "X-Tollgate-Cost-Mode": "quote" } });
  expect(await json<object>(quoted)).toMatchObject({ object: "cost_estimate" });
  const capped = await gateway.call(account, snapshotPath, {
    headers: { "X-Tollgate-Max-Price-USD": "0.001" },
  });
  expect(capped.status).toBe(402);
  // Where both are given, the operator's is the one that is documented.
  const both = { "X-Tollgate-Max-Price-USD": "0.001", "X-Acme-Max-Price-USD": "1" };
  expect((await gateway.call(account, snapshotPath, { headers: both })).status).toBe(200);
  expect(await gateway.balance(account)).toEqual({ balance: 1_952_000, held: 0 });
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

    const gateway = await openTestGateway({ config: pricedAt(slow.url, "0.048") });
    const account = await gateway.openAccount();
    const running = gateway.call(account, snapshotPath);
    await waiting;
    expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 48_000 });
    await gateway.gateway.reload(
      await loadCatalogue([catalogueFolder]),
      parseConfig(pricedAt(next.url, "0.1"), "the next configuration", {}),
      gateway.sandbox.url,
    );
    const after = await gateway.call(account, snapshotPath);
    expect(await gateway.balance(account)).toEqual({ balance: 1_900_000, held: 48_000 });
    answer();
    const before = await running;

    expect(await before.text()).toContain("OLD");
    const [old, fresh] = [await gateway.receipt(account, before), await gateway.receipt(account, after)];
    expect([old.held_micros_usd, old.charged_micros_usd]).toEqual([48_000, 48_000]);
    expect([fresh.held_micros_usd, fresh.charged_micros_usd]).toEqual([100_000, 100_000]);
    expect(fresh.price_version).not.toBe(old.price_version);
    expect([slow.requests.length, next.requests.length]).toEqual([1, 1]);
    expect(await gateway.balance(account)).toEqual({ balance: 1_852_000, held: 0 });
    expect(await gateway.audit()).toEqual([]);
    await gateway.close();
    await Promise.all([slow.close(), next.close()]);
  });

  test("to another key of the operator's sends that one from then on", async () => {
    const vendor = await openVendorDouble({ handlers: { "*": sunny } });
    const config = (key: string): string =>
      `upstreams: { findata: { protocol: financialdatasets, url: "${vendor.url}", key: ${key} } }`;
    const gateway = await openTestGateway({ config: config("fd-key-000000") });
    const account = await gateway.openAccount();
    const ids = [await gateway.call(account, snapshotPath), await gateway.call(account, snapshotPath)];
    const catalogue = await loadCatalogue([catalogueFolder]);
    const next = parseConfig(config("fd-key-111111"), "the next configuration", {});
    await gateway.gateway.reload(catalogue, next, gateway.sandbox.url);
    ids.push(await gateway.call(account, snapshotPath));
    const told = (name: string) => vendor.requests.flatMap(({ headers }) => headerValues(headers, name));
    expect(told("x-api-key")).toEqual(["fd-key-000000", "fd-key-000000", "fd-key-111111"]);
    // Whatever is told every time, each request has the name of its own call.
    expect(told("x-request-id")).toEqual(ids.map(({ headers }) => headers.get("x-request-id") ?? ""));
    await gateway.close();
    await vendor.close();
  });

  test("to equal prices keeps the price version", async () => {
    const gateway = await openTestGateway();
    const account = await gateway.openAccount();
    const quote = () =>
      json<Quote>(
        gateway.call(account, snapshotPath, {
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
