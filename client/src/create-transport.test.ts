// A client in places that are poorer, or stricter, than a server's runtime.

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
