// What a client can be made of, also in places that are poorer, or stricter, than a server's runtime.

import { afterEach, expect, test } from "bun:test";
import { openScriptedGateway, type ScriptedGateway } from "../scripted-gateway.ts";
import { createClient } from "./client.ts";

let gateway: ScriptedGateway;
afterEach(() => gateway.close());

const rerank = { query: "a", documents: ["b"] };

test("a browser's own fetch can be passed on, though it must not be called as anybody's method", async () => {
  gateway = await openScriptedGateway({ answers: [{ status: 200, body: { results: [] } }] });
  const { baseUrl, apiKey } = gateway.transport;
  const asInBrowsers = function (this: unknown, url: string, init: RequestInit): Promise<Response> {
    if (this !== undefined && this !== globalThis) throw new TypeError("Illegal invocation");
    return fetch(url, init);
  };
  const client = createClient({ apiKey, baseUrl, fetch: asInBrowsers, attemptsMax: 1 });
  expect(await client.call("rerank.create", rerank)).toMatchObject({ status: 200 });
});

test("a page that came over plain http makes its idempotency keys, too, and each call has its own", async () => {
  gateway = await openScriptedGateway({ answers: [{ status: 200, body: { results: [] } }] });
  const { baseUrl, apiKey, fetch } = gateway.transport;
  const client = createClient({ apiKey, baseUrl, fetch });
  // Browsers have this in secure contexts alone.
  const usual = Object.getOwnPropertyDescriptor(crypto, "randomUUID");
  Object.defineProperty(crypto, "randomUUID", { value: undefined, configurable: true });
  try {
    for (let calls = 0; calls < 3; calls++) await client.call("rerank.create", rerank);
  } finally {
    if (usual) Object.defineProperty(crypto, "randomUUID", usual);
    else Reflect.deleteProperty(crypto, "randomUUID");
  }
  const keys = gateway.calls.map(({ idempotencyKey }) => idempotencyKey);
  for (const key of keys) expect(key).toMatch(/^[0-9a-f]{32}$/);
  expect(new Set(keys).size).toBe(3);
});

test("an address that was copied with a space or a line break is the same address", async () => {
  gateway = await openScriptedGateway({ answers: [{ status: 200, body: { results: [] } }] });
  const { baseUrl, apiKey, fetch } = gateway.transport;
  const client = createClient({ apiKey, baseUrl: ` ${baseUrl}/ \n`, fetch, attemptsMax: 1 });
  expect(await client.call("rerank.create", rerank)).toMatchObject({ status: 200 });
  expect(gateway.calls.map(({ path }) => path)).toEqual(["/v1/rerank"]);
});

test("an address to which no path can be added, or with a password in it, is refused at once", async () => {
  gateway = await openScriptedGateway({ answers: [{ status: 200 }] });
  const { baseUrl, apiKey } = gateway.transport;
  const withUser = baseUrl.replace("//", "//user:pw@");
  for (const unusable of [withUser, `${baseUrl}/?x=1`, `${baseUrl}?`, `${baseUrl}#x`]) {
    expect(() => createClient({ apiKey, baseUrl: unusable })).toThrow(
      expect.objectContaining({ name: "TollgateError", code: "invalid_base_url", moneyMoved: "no" }),
    );
  }
});

test("an address as other clients take it, with the version of the API, is refused with a word about it", async () => {
  gateway = await openScriptedGateway({ answers: [{ status: 200, body: { results: [] } }] });
  const { baseUrl, apiKey } = gateway.transport;
  for (const theirs of [`${baseUrl}/v1`, `${baseUrl}/v1/ `, `${baseUrl}/v1beta`]) {
    expect(() => createClient({ apiKey, baseUrl: theirs })).toThrow(
      expect.objectContaining({
        code: "invalid_base_url",
        moneyMoved: "no",
        message: expect.stringContaining("without /v1 or /v1beta") as unknown,
      }),
    );
  }
  // Whoever relays its calls may do so from any other place.
  const asked: string[] = [];
  const record = async (url: string): Promise<Response> => {
    asked.push(url);
    return Response.json({ results: [] });
  };
  const relayed = createClient({ apiKey, baseUrl: "https://app.example/gate-v1", fetch: record });
  expect(await relayed.call("rerank.create", rerank)).toMatchObject({ status: 200 });
  expect(asked).toEqual(["https://app.example/gate-v1/v1/rerank"]);
});

test("no call is even tried at an address that is none", async () => {
  gateway = await openScriptedGateway({ answers: [] });
  for (const baseUrl of [
    "127.0.0.1:25000",
    "localhost:8787",
    "gate.example",
    "ftp://gate.example",
    "http://",
  ]) {
    expect(() => createClient({ apiKey: "tgk_test", baseUrl })).toThrow(
      expect.objectContaining({ name: "TollgateError", code: "invalid_base_url", moneyMoved: "no" }),
    );
  }
  expect(() => createClient({ apiKey: "" })).toThrow(
    expect.objectContaining({ name: "TollgateError", kind: "credentials", code: "missing_api_key" }),
  );
});

test("a client without a key is not made", async () => {
  gateway = await openScriptedGateway({ answers: [] });
  expect(() => createClient({ apiKey: "" })).toThrow("API key");
  expect(() => createClient({ apiKey: "tgk_…" })).toThrow(
    expect.objectContaining({ kind: "credentials", code: "invalid_api_key", moneyMoved: "no" }),
  );
  const { baseUrl } = gateway.transport;
  await createClient({ baseUrl, apiKey: "tgk_test\n", attemptsMax: 1 })
    .balance()
    .catch(() => {});
  expect(gateway.calls[0]?.headers["authorization"]).toBe("Bearer tgk_test");
});

test("a setting that is no number is refused, because no attempt and no wait would ever be the last", async () => {
  gateway = await openScriptedGateway({ answers: [] });
  for (const setting of [
    { attemptsMax: NaN },
    { attemptsMax: 0 },
    { attemptTimeoutMs: -1 },
    { waitMaxMs: NaN },
  ])
    expect(() => createClient({ apiKey: "tgk_test", ...setting })).toThrow(
      expect.objectContaining({ code: "invalid_setting", moneyMoved: "no" }),
    );
});

test("a client that may wait for ever waits, and does not give up what it paid for at once", async () => {
  const headers = { "x-tollgate-cost-micros-usd": "5" };
  gateway = await openScriptedGateway({ answers: [{ status: 200, body: { results: [] }, headers }] });
  const { baseUrl, apiKey } = gateway.transport;
  const client = createClient({
    baseUrl,
    apiKey,
    attemptTimeoutMs: Infinity,
    fetch: async (url, init) => {
      const response = await fetch(url, { ...init, signal: null });
      await Bun.sleep(30);
      init.signal?.throwIfAborted();
      return response;
    },
  });
  expect(await client.call("rerank.create", rerank)).toMatchObject({ chargedMicrosUsd: 5, attempts: 1 });
  expect(gateway.lookUps).toEqual([]);
});
