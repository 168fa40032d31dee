// Clients that register themselves: what they get, what is refused or dropped, how long they are known, and how an operator
// closes it.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { parseConfig } from "../../gateway/src/config/load-config.ts";
import { loadCatalogue } from "../../gateway/src/operation/catalogue.ts";
import { catalogueFolder } from "../support/project-folder.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { createClient, createPerson, redirectUri, registerClient, signInWith } from "./oauth-person.ts";

let gateway: TestGateway;
let account: TestAccount;
let fetched: string[] = [];

beforeAll(async () => {
  gateway = await openTestGateway({
    parts: {
      fetchDocument: async (url) => {
        fetched.push(url);
        throw new Error("nothing there");
      },
    },
  });
  account = await gateway.openAccount({ creditUsd: "50" });
});
afterAll(() => gateway.close());
beforeEach(() => {
  fetched = [];
});

const register = (metadata: unknown, to = gateway): Promise<Response> =>
  fetch(`${to.url}/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof metadata === "string" ? metadata : JSON.stringify(metadata),
  });
const person = () => createPerson(gateway.url, account.key);

test("a client gets an id, no secret, and both grant types in the answer", async () => {
  const response = await register({ client_name: "A", redirect_uris: [redirectUri], scope: "tools:read" });
  expect(response.status).toBe(201);
  const answer = (await response.json()) as Record<string, unknown>;
  expect(answer).toMatchObject({
    client_name: "A",
    redirect_uris: [redirectUri],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  });
  expect(answer["client_secret"]).toBeUndefined();
  expect(answer["scope"]).toBeUndefined();
});

test("a client is not locked to the scopes it first heard of", async () => {
  const client = await registerClient(gateway.url, { scope: "tools:read" });
  const { url, verifier } = client.begin({ scope: "tools:read tools:spend" });
  expect(await client.redeem(await person().allow(url), verifier)).toMatchObject({
    scope: "tools:read tools:spend",
  });
});

test("a client that wants a secret gets one, and is nobody without it", async () => {
  const response = await register({
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: "client_secret_post",
  });
  const { client_id: id, client_secret: secret } = (await response.json()) as Record<string, string>;
  const client = createClient(gateway.url, id ?? "");
  const { url, verifier } = client.begin();
  const returned = await person().allow(url);
  const form = {
    grant_type: "authorization_code",
    code: returned.searchParams.get("code") ?? "",
    redirect_uri: redirectUri,
    code_verifier: verifier,
  };
  expect((await client.trade(form)).status).toBe(401);
  expect((await client.trade({ ...form, client_secret: secret })).status).toBe(200);
});

test.each([
  "javascript:alert(1)",
  "data:text/html,x",
  "http://evil.example/cb",
  "http://127.0.0.1.evil.example/cb",
  "http://localhost.evil.example/cb",
  "http://0.0.0.0/cb",
  "http://10.0.0.1/cb",
  "https://user:pw@client.example/cb",
  "https://client.example/cb#fragment",
  "https://client.example/a/../cb",
  "https://client.example/%2e%2e/cb",
  "https://client.example\\@evil.example/cb",
  "https://client.example/c b",
  "ftp://client.example/cb",
  "//client.example/cb",
  "/cb",
  "",
  "https://client.example/ and so on for two thousand letters",
])("a redirect to %p is refused", async (written) => {
  const uri = written.replace(/ and so on.*/, "x".repeat(2_001));
  for (const uris of [[uri], [redirectUri, uri]]) {
    const response = await register({ redirect_uris: uris });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: "invalid_redirect_uri" });
  }
});

test("a client that also names an address of its app is registered with its other ones, and goes back only there", async () => {
  const app = "cursor://anysphere.cursor-mcp/oauth/callback";
  const page = "https://www.cursor.com/agents/mcp/oauth/callback";
  const alone = await register({ redirect_uris: [app] });
  expect([alone.status, await alone.json()]).toMatchObject([400, { error: "invalid_redirect_uri" }]);
  const response = await register({ redirect_uris: [app, page, "http://localhost:8787/callback"] });
  expect(response.status).toBe(201);
  const { client_id: id, redirect_uris: uris } = (await response.json()) as {
    readonly client_id: string;
    readonly redirect_uris: readonly string[];
  };
  expect(uris).toEqual([page, "http://localhost:8787/callback"]);

  const toPage = createClient(gateway.url, id, page);
  const { url, verifier } = toPage.begin();
  const returned = await person().allow(url);
  expect(returned.href).toStartWith(`${page}?code=`);
  expect(await toPage.redeem(returned, verifier)).toMatchObject({ token_type: "Bearer" });
  const toApp = await person().open(createClient(gateway.url, id, app).begin().url);
  expect([toApp.left, toApp.response.status]).toEqual([false, 400]);
});

test.each([
  ["no redirect", { client_name: "A" }],
  ["an empty list", { redirect_uris: [] }],
  ["hundreds of redirects", { redirect_uris: Array.from({ length: 100 }, () => redirectUri) }],
  ["a list", []],
  ["no JSON", "redirect_uris=x"],
  ["an implicit answer", { redirect_uris: [redirectUri], response_types: ["token"] }],
  ["a key of its own", { redirect_uris: [redirectUri], token_endpoint_auth_method: "private_key_jwt" }],
])("a registration with %s is refused", async (_, metadata) => {
  const response = await register(metadata);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: "invalid_client_metadata" });
});

test("a registration makes nobody fetch anything, and what else it says is dropped", async () => {
  const response = await register({
    redirect_uris: [redirectUri],
    jwks_uri: "https://client.example/jwks",
    sector_identifier_uri: "https://client.example/sector",
    logo_uri: "https://client.example/logo",
    initiate_login_uri: "https://client.example/login",
    client_id: "mine",
  });
  expect(response.status).toBe(201);
  const text = await response.text();
  for (const word of ["jwks_uri", "sector", "logo", "login", '"mine"']) expect(text).not.toContain(word);
  expect(fetched).toEqual([]);
});

test.each([
  ["on the developer's own machine", "http://localhost:8787"],
  ["that is empty", ""],
  ["that is null", null],
])("a client is taken with an address of its own %s, which is dropped", async (_, address) => {
  const response = await register({ redirect_uris: [redirectUri], client_uri: address });
  expect(response.status).toBe(201);
  expect(await response.text()).not.toContain("client_uri");
});

test("a client is not refused for what is dropped", async () => {
  const response = await register({
    redirect_uris: [redirectUri],
    application_type: "desktop",
    software_id: "x".repeat(101),
    software_version: null,
  });
  expect(response.status).toBe(201);
});

test("a client that writes null for what it does not say has not said it", async () => {
  const unsaid = { client_name: null, grant_types: null, response_types: null, scope: null };
  const response = await register({
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: null,
    ...unsaid,
  });
  expect(response.status).toBe(201);
  const told = (await response.json()) as object;
  expect(told).toMatchObject({
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
  });
  expect(told).not.toHaveProperty("client_name");
  expect((await register({ redirect_uris: null })).status).toBe(400);
});

test("a name of a page is cut to what a page can show", async () => {
  const response = await register({
    redirect_uris: [redirectUri],
    client_name: `${"x".repeat(79)}😀 and so on`,
  });
  expect(await response.json()).toMatchObject({ client_name: `${"x".repeat(79)}\ufffd` });
});

test("a registration larger than 16 KB is refused unread", async () => {
  const response = await register({ redirect_uris: [redirectUri], software_id: "x".repeat(17_000) });
  expect(response.status).toBe(413);
});

test("ten thousand clients wait for their person at most; of more, those that wait longest are forgotten", async () => {
  const own = await openTestGateway();
  try {
    const endsMs = Date.now() + 60_000;
    const into = "INSERT INTO sign_in_record (kind, id_hash, sealed, expires_at_ms)";
    await own.data.query({
      sqlite: `WITH RECURSIVE client (at) AS (SELECT 0 UNION ALL SELECT at + 1 FROM client WHERE at < 9999)
        ${into} SELECT 'Client', randomblob(32), x'00', ${endsMs} + at FROM client`,
      postgres: `${into} SELECT 'Client', sha256(at::text::bytea), '\\x00', ${endsMs} + at FROM generate_series(0, 9999) AS at`,
    });
    const newest = await registerClient(own.url);
    const [counted] = await own.data.query<{ clients: number; oldest: number }>(
      "SELECT count(*) AS clients, min(expires_at_ms) AS oldest FROM sign_in_record WHERE kind = 'Client'",
    );
    expect(counted).toEqual({ clients: 10_000, oldest: endsMs + 1 });
    const mine = await own.openAccount();
    const asked = await createPerson(own.url, mine.key).open(newest.begin().url);
    expect(asked.response.status).toBe(200);
  } finally {
    await own.close();
  }
});

test("a flood of registrations is told to wait, and a client nobody used is forgotten after thirty days", async () => {
  let passedMs = 0;
  const clock = { wallMs: () => Date.now() + passedMs, monotonicMs: () => performance.now() + passedMs };
  const own = await openTestGateway({ clock });
  try {
    const mine = await own.openAccount();
    const used = await registerClient(own.url);
    await createPerson(own.url, mine.key).allow(used.begin().url);
    const unused = await registerClient(own.url);
    let refused: Response | undefined;
    for (let tries = 0; tries < 80 && refused === undefined; tries++) {
      const response = await register({ redirect_uris: [redirectUri] }, own);
      if (response.status !== 201) refused = response;
    }
    expect(refused?.status).toBe(429);
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
    const browser = createPerson(own.url, mine.key);
    passedMs = 29 * 24 * 60 * 60_000;
    expect((await browser.open(unused.begin().url)).response.status).toBe(200);
    passedMs = 30 * 24 * 60 * 60_000 + 1_000;
    const forgotten = await browser.open(unused.begin().url);
    expect(forgotten.response.status).toBe(400);
    expect(forgotten.html).toContain("This client is not known here, or not any more.");
    expect(forgotten.html).toContain("Remove the connection in your client and add it again.");
    expect((await browser.open(used.begin().url)).response.status).toBe(200);
  } finally {
    await own.close();
  }
});

test("an operator can close registration", async () => {
  const own = await openTestGateway({ config: "mcp: { registration: off }\n" });
  try {
    expect((await register({ redirect_uris: [redirectUri] }, own)).status).toBe(404);
    const metadata = await (await fetch(`${own.url}/.well-known/oauth-authorization-server`)).json();
    expect(metadata as object).not.toHaveProperty("registration_endpoint");
  } finally {
    await own.close();
  }
});

test("while registration is closed, clients that registered before are nobody, and the operator's and those known by an address go on", async () => {
  const byAddress = "https://client.example/goes-on.json";
  const described = { client_id: byAddress, client_name: "By address", redirect_uris: [redirectUri] };
  const listed = `clients: { desk: { name: Desk, redirect_uris: ['${redirectUri}'] } }`;
  const own = await openTestGateway({
    config: `mcp: { ${listed} }`,
    parts: { fetchDocument: async () => Response.json(described) },
  });
  const registration = (is: "open" | "off"): Promise<void> =>
    reload(own, `mcp: { registration: ${is}, ${listed} }`);
  try {
    const mine = await own.openAccount();
    const browser = () => createPerson(own.url, mine.key);
    const { client, refresh_token: renewal } = await signInWith(own.url, mine.key);
    const person = browser();
    const page = await person.open(client.begin().url);
    const redeemed = client.begin();
    const returned = await browser().allow(redeemed.url);

    await registration("off");
    const { response, left } = await browser().open(client.begin().url);
    expect([response.status, left]).toEqual([400, false]);
    const code = client.redeem(returned, redeemed.verifier).catch(String);
    expect(await code).toContain("invalid_client");
    const refused = await client.refresh(renewal);
    expect(await refused.json()).toMatchObject({ error: "invalid_client" });
    const consent = await person.submit(page, { action: "sign_in", key: mine.key });
    const bounds = { spend: "yes", per_call_usd: "1", per_day_usd: "10", days: "30" };
    const allowed = await person.submit(consent, { action: "allow", ...bounds });
    expect([allowed.response.status, allowed.left]).toEqual([400, false]);
    for (const id of ["desk", byAddress]) {
      const known = createClient(own.url, id);
      const { url, verifier } = known.begin();
      const tokens = await known.redeem(await browser().allow(url), verifier);
      expect((await known.refresh(tokens.refresh_token)).status).toBe(200);
    }

    await registration("open");
    expect((await client.refresh(renewal)).status).toBe(200);
    expect((await browser().open(client.begin().url)).response.status).toBe(200);
  } finally {
    await own.close();
  }
});
async function reload({ gateway: running, sandbox }: TestGateway, config: string): Promise<void> {
  await running.reload(await loadCatalogue([catalogueFolder]), parseConfig(config, "test", {}), sandbox.url);
}
