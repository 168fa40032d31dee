import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig } from "../../gateway/src/config/load-config.ts";
import { loadCatalogue } from "../../gateway/src/operation/catalogue.ts";
import type { Log } from "../../gateway/src/platform/log.ts";
import { catalogueFolder } from "../support/project-folder.ts";
import { openTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { takeWriteLock } from "../support/write-lock.ts";

const closings: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).toReversed()) await close();
});

async function open(options: Parameters<typeof openTestGateway>[0] = {}): Promise<TestGateway> {
  const gateway = await openTestGateway({ ...options, parts: { salesRefreshMs: 30, ...options.parts } });
  closings.push(gateway.close);
  return gateway;
}

/** A price list somewhere else, which a test can make fail. */
function openSource(answer: (request: Request) => Response | Promise<Response>) {
  const state = { answer, asked: 0 };
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      state.asked++;
      return state.answer(request);
    },
  });
  closings.push(() => server.stop(true));
  return { state, url: `http://127.0.0.1:${server.port}/prices.json` };
}

interface Sales {
  readonly freshness: string;
  readonly observed_at: string | null;
  readonly source: string | null;
  readonly items: readonly Readonly<Record<string, unknown>>[];
  readonly reason_code?: string;
}

async function read(gateway: TestGateway): Promise<Sales & { status: number }> {
  const response = await fetch(`${gateway.url}/api/sales-api-data`);
  expect(response.headers.has("x-tollgate-contract-hash")).toBe(true);
  return { status: response.status, ...((await response.json()) as Sales) };
}

const sha256 = (text: string): string => new Bun.CryptoHasher("sha256").update(text).digest("hex");
const list = JSON.stringify({ items: [{ operation_id: "a", usd: "1" }] });
const configOf = (url: string, hash = sha256(list)): string => `sales: { url: "${url}", sha256: "${hash}" }`;

test("by default the price list that is served is the snapshot, as old as the offer", async () => {
  const beforeMs = Date.now();
  const gateway = await open({ config: "operations: { financial.metrics.snapshot: { price_usd: 0.05 } }" });
  const sales = await read(gateway);
  expect(sales).toMatchObject({ status: 200, freshness: "fresh", source: "catalogue" });
  expect(Date.parse(sales.observed_at ?? "")).toBeWithin(beforeMs, Date.now() + 1);
  expect(sales.items.length).toBe(gateway.gateway.offer().operations.size);
  const item = (id: string) => sales.items.find((one) => one["operation_id"] === id);
  expect(item("financial.metrics.snapshot")).toEqual({
    operation_id: "financial.metrics.snapshot",
    title: "Financial metrics snapshot",
    category: "data",
    method: "GET",
    path: "/apis/v1/financial/financial-metrics/snapshot",
    price: "0.05 USD per call",
    unit: "call",
    usd: "0.05",
    definition: "complete",
  });
  expect(item("usage.get")).toMatchObject({ price: "free", usd: "0" });
  expect(item("rerank.create")).toMatchObject({ usd: null, unit: "1000000 tokens" });
  expect(item("traffic_analytics.website.traffic_engagement")).toMatchObject({ definition: "pending" });
});

test("a configured source is believed when its bytes have the configured hash", async () => {
  const { url } = openSource(() => new Response(list));
  const gateway = await open({ config: configOf(url) });
  await until(async () => (await read(gateway)).freshness === "fresh");
  expect(await read(gateway)).toMatchObject({
    status: 200,
    source: url,
    items: [{ operation_id: "a", usd: "1" }],
  });
});

test("what lets the gateway in at the source is shown to nobody and stands in no log", async () => {
  const password = "feed/password-0123";
  const token = "token of the feed";
  const { url, state } = openSource(({ headers, url: asked }) => {
    const isOurs =
      headers.get("authorization") === `Basic ${btoa(`feed:${password}`)}` &&
      new URL(asked).searchParams.get("token") === token;
    return isOurs ? new Response(list) : new Response("who are you?", { status: 401 });
  });
  const whole = new URL(url);
  Object.assign(whole, { username: "feed", password: encodeURIComponent(password) });
  whole.searchParams.set("token", token);
  let log: Log | undefined;
  const gateway = await open({
    config: configOf(whole.href),
    wrap: (parts) => {
      log = parts.log;
      return parts;
    },
  });
  await until(async () => (await read(gateway)).freshness === "fresh");
  expect((await read(gateway)).source).toBe(url);
  state.answer = () => new Response("gone", { status: 404 });
  await until(async () => (await read(gateway)).freshness === "stale");
  expect((await read(gateway)).source).toBe(url);

  log?.warn("somebody writes it down", { password, token, url: whole.href });
  const logged = gateway.logged.join("");
  expect(logged).toContain("somebody writes it down");
  const secrets = [password, encodeURIComponent(password), token, "token+of+the+feed"];
  for (const secret of secrets) expect(logged).not.toContain(secret);
});

test("without a verified snapshot the answer is 503 and says so, whatever the source does", async () => {
  const elsewhere = openSource(() => new Response(list));
  const failures: (() => Response)[] = [
    () => new Response("no", { status: 500 }),
    () => new Response(`${list} `),
    () => new Response(null, { status: 302, headers: { location: elsewhere.url } }),
    () => new Response("x".repeat(6 * 1024 * 1024)),
  ];
  for (const failure of failures) {
    const { url, state } = openSource(failure);
    const gateway = await open({ config: configOf(url) });
    await until(() => state.asked >= 2);
    expect(await read(gateway)).toEqual({
      status: 503,
      freshness: "unavailable",
      reason_code: "verified_sales_source_unavailable",
      observed_at: null,
      source: null,
      items: [],
    });
  }
  expect(elsewhere.state.asked).toBe(0);
});

test("bytes with the right hash that are no price list are not served", async () => {
  const text = '{"prices":1}';
  const { url, state } = openSource(() => new Response(text));
  const gateway = await open({ config: configOf(url, sha256(text)) });
  await until(() => state.asked >= 2);
  expect((await read(gateway)).status).toBe(503);
});

test("a snapshot outlives its source, stale and with its own time, also through a restart", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-sales-"));
  closings.push(() => rmSync(folder, { recursive: true, force: true }));
  const { url, state } = openSource(() => new Response(list));
  const gateway = await openTestGateway({ folder, config: configOf(url), parts: { salesRefreshMs: 30 } });
  await until(async () => (await read(gateway)).freshness === "fresh");
  state.answer = () => new Response("gone", { status: 404 });
  await until(async () => (await read(gateway)).freshness === "stale");
  const stale = await read(gateway);
  expect(stale.status).toBe(200);
  await Bun.sleep(100);
  expect(await read(gateway)).toEqual(stale);
  await gateway.close();

  const hangs = Promise.withResolvers<void>();
  // It is asked again while it hangs, and each request is given an answer of its own.
  state.answer = () => hangs.promise.then(() => new Response("gone", { status: 404 }));
  const hanging = await openTestGateway({ folder, config: configOf(url) });
  await until(async () => (await read(hanging)).status === 200);
  expect(await read(hanging)).toEqual(stale);
  hangs.resolve();
  await hanging.close();

  state.answer = () => new Response("gone", { status: 404 });
  const restarted = await open({ folder, config: configOf(url) });
  await until(async () => (await read(restarted)).freshness === "stale");
  expect(await read(restarted)).toEqual(stale);
  state.answer = () => new Response(list);
  await until(async () => (await read(restarted)).freshness === "fresh");
  const fresh = await read(restarted);
  expect(Date.parse(fresh.observed_at ?? "")).toBeGreaterThan(Date.parse(stale.observed_at ?? ""));
});

test("a source that was not there at the start is found within seconds, not at the next usual look", async () => {
  const { url, state } = openSource(() => new Response("not yet", { status: 503 }));
  const gateway = await open({ config: configOf(url), parts: { salesRefreshMs: 600_000 } });
  await until(() => state.asked >= 2);
  expect((await read(gateway)).status).toBe(503);
  state.answer = () => new Response(list);
  await until(async () => (await read(gateway)).freshness === "fresh");
  const { asked } = state;
  // Once it was seen, it is left alone until the usual time.
  await Bun.sleep(1_500);
  expect(state.asked).toBe(asked);
});

test("a reload that expects another hash keeps the old snapshot as stale until the new one is seen", async () => {
  const { url, state } = openSource(() => new Response(list));
  const gateway = await open({ config: configOf(url) });
  await until(async () => (await read(gateway)).freshness === "fresh");
  const next = JSON.stringify([{ operation_id: "b" }]);
  const config = parseConfig(configOf(url, sha256(next)), "test", {});
  await gateway.gateway.reload(await loadCatalogue([catalogueFolder]), config, gateway.sandbox.url);
  expect(await read(gateway)).toMatchObject({
    status: 200,
    freshness: "stale",
    items: [{ operation_id: "a" }],
  });
  state.answer = () => new Response(next);
  await until(async () => (await read(gateway)).freshness === "fresh");
  expect((await read(gateway)).items).toEqual([{ operation_id: "b" }]);
});

test("a snapshot that was just verified is fresh also where it cannot be kept for later", async () => {
  const { url } = openSource(() => new Response(list));
  const gateway = await open({ config: configOf(url) });
  await until(async () => (await read(gateway)).freshness === "fresh");
  const unlock = takeWriteLock(gateway.databasePath);
  closings.push(unlock);
  await until(() => gateway.logged.join("").includes("the sales data could not be kept for later"));
  expect((await read(gateway)).freshness).toBe("fresh");
  expect(gateway.logged.join("")).not.toContain("cannot be verified");
}, 15_000);

test("nobody who asks waits for the source", async () => {
  let release = (): void => {};
  const { url } = openSource(() => new Promise((resolve) => (release = () => resolve(new Response(list)))));
  const gateway = await open({ config: configOf(url) });
  const startedMs = performance.now();
  expect((await read(gateway)).status).toBe(503);
  expect(performance.now() - startedMs).toBeLessThan(3_000);
  release();
});
