// Clients known by an address: what they are is in a document there, which we fetch, and strangers choose the address.

import { afterAll, beforeAll, beforeEach, describe, expect, setSystemTime, test } from "bun:test";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { createClient, createPerson, type Client } from "./oauth-person.ts";

const loopback = "http://localhost:3118/callback";
const documents = new Map<string, () => Response | Promise<Response>>();
let fetched: string[] = [];

async function fetchDocument(url: string): Promise<Response> {
  fetched.push(url);
  const document = documents.get(url);
  if (!document) throw new Error("nothing there");
  return document();
}

let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await openTestGateway({ parts: { fetchDocument } });
  account = await gateway.openAccount({ creditUsd: "50" });
});
afterAll(() => gateway.close());
beforeEach(() => {
  fetched = [];
});

const person = () => createPerson(gateway.url, account.key);

const metadataOf = (id: string, more: object = {}) => ({
  client_id: id,
  client_name: "By address",
  redirect_uris: ["http://localhost/callback"],
  ...more,
});
const describes = (id: string, more: object = {}): void =>
  void documents.set(id, () => Response.json(metadataOf(id, more)));
const clientOf = (id: string): Client => createClient(gateway.url, id, loopback);
const visit = (id: string) => person().open(clientOf(id).begin().url);

test("signs in without registering; its host is shown, and its loopback port is free", async () => {
  const id = "https://client.example/meta.json";
  describes(id);
  const client = clientOf(id);
  const browser = person();
  const first = await browser.open(client.begin().url);
  const page = await browser.submit(first, { action: "sign_in", key: account.key });
  for (const words of ["By address", "client.example", "localhost:3118", "your own machine"]) {
    expect(page.html).toContain(words);
  }
  const { url, verifier } = client.begin();
  expect(await client.redeem(await browser.allow(url), verifier)).toHaveProperty("refresh_token");
  expect(fetched).toEqual([id]);
});

test("signs in without a signature where its document says that it can, whatever else it says there", async () => {
  const id = "https://chat.example/oauth/client.json";
  const callback = "https://chat.example/connector/oauth/callback";
  const signs = {
    redirect_uris: [callback],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "private_key_jwt",
    token_endpoint_auth_signing_alg: "RS256",
    jwks_uri: "https://chat.example/oauth/jwks.json",
    scope: "profile email",
  };
  describes(id, { ...signs, token_endpoint_auth_methods_supported: ["none", "private_key_jwt"] });
  const client = createClient(gateway.url, id, callback);
  const { url, verifier } = client.begin();
  const returned = await person().allow(url);
  const { refresh_token } = await client.redeem(returned, verifier);
  expect((await client.refresh(refresh_token)).status).toBe(200);
  expect(fetched).toEqual([id]);
});

test("lets its person take nine minutes, although its document may be kept for thirty seconds only", async () => {
  const id = "https://client.example/slow-person.json";
  describes(id);
  const client = clientOf(id);
  const browser = person();
  const { url, verifier } = client.begin();
  const first = await browser.open(url);
  const startedMs = Date.now();
  try {
    setSystemTime(startedMs + 4 * 60_000);
    const page = await browser.submit(first, { action: "sign_in", key: account.key });
    expect([page.response.status, page.html.includes("By address")]).toEqual([200, true]);
    setSystemTime(startedMs + 9 * 60_000);
    const bounds = { spend: "yes", per_call_usd: "1", per_day_usd: "10", days: "30" };
    const returned = await browser.submit(page, { action: "allow", ...bounds });
    expect(await client.redeem(returned.url, verifier)).toHaveProperty("access_token");
  } finally {
    setSystemTime();
  }
});

test.each([
  ["names another client", { client_id: "https://other.example/meta.json" }],
  ["contains a secret", { client_secret: "x".repeat(20) }],
  ["asks for a shared secret", { token_endpoint_auth_method: "client_secret_basic" }],
  [
    "asks for a shared secret before all else",
    {
      token_endpoint_auth_method: "client_secret_basic",
      token_endpoint_auth_methods_supported: ["client_secret_basic", "none"],
    },
  ],
  ["always signs", { token_endpoint_auth_method: "private_key_jwt", jwks_uri: "https://client.example/j" }],
  ["sends codes to a stranger", { redirect_uris: ["http://localhost/callback", "http://evil.example/cb"] }],
  ["sends codes into a script", { redirect_uris: ["javascript:alert(1)"] }],
])("a document that %s is refused", async (name, more) => {
  const id = `https://client.example/${encodeURIComponent(name)}`;
  describes(id, more);
  const page = await visit(id);
  expect(page).toMatchObject({ left: false });
  expect(page.response.status).toBe(400);
});

test("a document makes nobody fetch anything else", async () => {
  const id = "https://client.example/more-addresses.json";
  const elsewhere = "https://victim.example/anything";
  describes(id, { sector_identifier_uri: elsewhere, jwks_uri: elsewhere, logo_uri: elsewhere });
  expect((await visit(id)).html).toContain("Sign in");
  expect(fetched).toEqual([id]);
});

/** All that is wrong with each is how it comes: what it says would do. */
test.each<[string, (metadata: object) => Response | Promise<Response>]>([
  ["answers with another status", (metadata) => Response.json(metadata, { status: 404 })],
  [
    "redirects",
    (metadata) => Response.json(metadata, { status: 302, headers: { location: "https://127.0.0.1/" } }),
  ],
  ["is no JSON", (metadata) => new Response(`<html>${JSON.stringify(metadata)}`)],
  ["is too long", (metadata) => Response.json({ ...metadata, software_id: "x".repeat(6_000) })],
  ["never comes", () => Promise.reject(new Error("timeout"))],
])("a document that %s is refused", async (name, document) => {
  const id = `https://client.example/${encodeURIComponent(name)}`;
  documents.set(id, () => document(metadataOf(id)));
  const page = await visit(id);
  expect(page.response.status).toBe(400);
  expect([...new Set(fetched)]).toEqual([id]);
});

test.each([
  "http://client.example/meta.json",
  "https://user@client.example/meta.json",
  "https://client.example/a/../meta.json",
  "https://client.example/meta.json#x",
  "ftp://client.example/meta.json",
])("%s is no address of a client, and nothing is fetched", async (id) => {
  const page = await visit(id);
  expect(page.response.status).toBe(400);
  expect(fetched).toEqual([]);
});

test("a stranger cannot use us to knock at somebody's door again and again", async () => {
  for (let n = 0; n < 40; n++) await visit(`https://knock.example/${n}`);
  expect(fetched.length).toBeLessThanOrEqual(30);
});

describe("asked for by visitors from several addresses", () => {
  let shared: TestGateway;

  beforeAll(async () => {
    shared = await openTestGateway({
      config: "trusted_proxies: ['127.0.0.1']\n",
      parts: { fetchDocument },
    });
  });
  afterAll(() => shared.close());

  const visitFrom = (address: string, id: string): Promise<Response> =>
    fetch(createClient(shared.url, id, loopback).begin().url, {
      redirect: "manual",
      headers: { "x-forwarded-for": address, accept: "text/html" },
    });

  test("one visitor's useless questions about a host keep nobody else from its clients", async () => {
    const id = "https://popular.example/meta.json";
    describes(id);
    for (let n = 0; n < 40; n++) await visitFrom("198.51.100.7", `https://popular.example/${n}`);
    expect((await visitFrom("203.0.113.9", id)).status).toBe(303);
    expect([fetched.length, fetched.at(-1)]).toEqual([31, id]);
  });

  test("however many ask, no host is asked without end", async () => {
    for (let n = 0; n < 630; n++) await visitFrom(`198.51.${n % 30}.1`, `https://crowded.example/${n}`);
    expect(fetched).toHaveLength(600);
  });
});
