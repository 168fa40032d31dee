import { afterEach, expect, test } from "bun:test";
import { openScriptedGateway, type Script, type ScriptedGateway } from "../scripted-gateway.ts";
import { createClient } from "./client.ts";
import type { OperationFacts } from "./operation-facts.ts";

let gateway: ScriptedGateway;
afterEach(() => gateway.close());

const operations: {
  readonly "weather.now": OperationFacts<{ readonly city: string }, { readonly celsius: number }>;
  readonly "weather.report": OperationFacts<{ readonly city: string; readonly units?: string }>;
  readonly "weather.watch": OperationFacts;
} = {
  "weather.now": { method: "GET", path: "/apis/v1/weather/{city}", billed: true, keyed: false },
  "weather.report": {
    method: "POST",
    path: "/apis/v1/weather-reports",
    billed: true,
    keyed: true,
    inQuery: ["units"],
  },
  "weather.watch": {
    method: "GET",
    path: "/apis/v1/weather-watch",
    billed: true,
    keyed: false,
    streams: "sometimes",
  },
};

async function open(script: Script) {
  gateway = await openScriptedGateway(script);
  const { baseUrl, apiKey, fetch, clock, random } = gateway.transport;
  return createClient({ operations, baseUrl, apiKey, fetch, clock, random, names: { provider: "Acme" } });
}

const charged = (micros: number) => ({
  request_id: "req_1",
  status: "settled",
  outcome: "succeeded",
  charged_micros_usd: micros,
});
const errorOf = (failing: Promise<unknown>): Promise<unknown> => failing.catch((error: unknown) => error);

test("an operation of one's own is called like any other, with types, a key, a cap and its cost", async () => {
  const headers = { "x-acme-cost-micros-usd": "7" };
  const client = await open({ answers: [{ status: 200, body: { celsius: 3 }, headers }] });
  const now = await client.call("weather.now", { city: "São Paulo" }, { maxPriceUsd: "0.01" });
  const celsius: number = now.data.celsius;
  expect([celsius, now.chargedMicrosUsd, now.idempotencyKey]).toEqual([3, 7, undefined]);
  const report = await client.call("weather.report", { city: "Oslo", units: "metric" });
  expect(gateway.calls.map(({ method, path, body }) => [method, path, body])).toEqual([
    ["GET", "/apis/v1/weather/S%C3%A3o%20Paulo", ""],
    ["POST", "/apis/v1/weather-reports?units=metric", '{"city":"Oslo"}'],
  ]);
  expect(gateway.calls[0]?.headers["x-acme-max-price-usd"]).toBe("0.01");
  expect(report.idempotencyKey).toBe(gateway.calls[1]?.idempotencyKey ?? "none was sent");

  // @ts-expect-error A city is missing.
  const _noCity = () => client.call("weather.now", {});
  // @ts-expect-error There is no such operation, here or among those that ship.
  const _noSuch = () => client.call("weather.yesterday", {});
  // @ts-expect-error Degrees are a number.
  const _noText = (): string => now.data.celsius;
  // What ships keeps its types.
  const _shipped = () => client.call("rerank.create", { query: "a", documents: ["b"] });
});

test("an operation of one's own is quoted, and the quote pays nothing", async () => {
  const client = await open({ answers: [{ status: 200, body: { object: "cost_estimate" } }] });
  await client.quote("weather.report", { city: "Oslo" });
  expect(gateway.calls[0]?.headers["x-acme-cost-mode"]).toBe("quote");
  expect(gateway.calls[0]?.idempotencyKey).toBeUndefined();
});

test("a lost answer of one is looked up, and what was paid is never sent again", async () => {
  const client = await open({ answers: ["gone"], receipts: [charged(9)] });
  expect(await errorOf(client.call("weather.report", { city: "Oslo" }))).toMatchObject({
    kind: "answer_lost",
    moneyMoved: "yes",
    chargedMicrosUsd: 9,
  });
  expect(gateway.calls).toHaveLength(1);
});

test("one without a key is not sent again in doubt, and says that nobody knows", async () => {
  const client = await open({ answers: ["gone"] });
  expect(await errorOf(client.call("weather.now", { city: "Oslo" }))).toMatchObject({
    moneyMoved: "unknown",
  });
  expect(gateway.calls).toHaveLength(1);
});

test("one that streams by words of its own can be asked for either way", async () => {
  const text = 'data: {"celsius":3}\n\n';
  const answer = { status: 200, body: text, headers: { "content-type": "text/event-stream" } };
  const client = await open({ answers: [answer], receipts: [charged(2)] });
  const stream = await client.stream("weather.watch", { follow: "yes" });
  const events = [];
  for await (const event of stream) events.push(event.data);
  expect([events, await stream.end()]).toEqual([['{"celsius":3}'], { costMicrosUsd: 2 }]);
  expect(await client.call("weather.watch", {})).toMatchObject({ data: text, chargedMicrosUsd: 2 });
  expect(gateway.calls.map(({ path }) => path)).toEqual([
    "/apis/v1/weather-watch?follow=yes",
    "/apis/v1/weather-watch",
  ]);
});

test("one that nobody can send rightly is refused before there is a client", async () => {
  gateway = await openScriptedGateway({ answers: [] });
  const sound = { method: "GET", path: "/apis/v1/x", billed: true, keyed: false } as const;
  for (const wrong of [
    // The key would go to another host.
    { ...sound, path: ".elsewhere.example/x" },
    { ...sound, path: "@elsewhere.example/x" },
    { ...sound, method: "DELETE" },
    { ...sound, billed: undefined },
    { ...sound, keyed: "yes" },
  ] as unknown as OperationFacts[]) {
    expect(() => createClient({ apiKey: "tgk_test", operations: { x: wrong } })).toThrow(
      expect.objectContaining({ code: "invalid_operation", moneyMoved: "no", attempts: 0 }),
    );
  }
});
