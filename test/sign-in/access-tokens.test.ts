// What an access token is good for after sign-in, and when it ends: at every door, with money at stake.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { systemClock } from "../../gateway/src/platform/clock.ts";
import { openVendorDouble } from "../doubles/vendor-double.ts";
import { codeOf } from "../support/answers.ts";
import { snapshotPath } from "../support/purchases.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { awayFromMidnight } from "../support/wall-clock.ts";
import { createPerson, registerClient, signInWith, type Tokens } from "./oauth-person.ts";

await awayFromMidnight();

let gateway: TestGateway;
let passedMs = 0;

beforeAll(async () => {
  gateway = await openTestGateway({
    clock: { ...systemClock, wallMs: () => systemClock.wallMs() + passedMs },
    config: "operations:\n  financial.metrics.snapshot: { price_usd: 2 }\n",
  });
});
afterAll(() => gateway.close());

const cheap = { query: "a", documents: ["b"] };

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const get = (path: string, token: string): Promise<Response> =>
  fetch(gateway.url + path, { headers: bearer(token) });
const rerank = (token: string): Promise<Response> =>
  fetch(`${gateway.url}/v1/rerank`, {
    method: "POST",
    headers: { ...bearer(token), "content-type": "application/json" },
    body: JSON.stringify(cheap),
  });
/** A token that looks like one, and is none. */
const otherLetter = (token: string): string => `${token.slice(0, -1)}${token.endsWith("a") ? "b" : "a"}`;

const tokensOf = async (response: Response): Promise<Tokens> => {
  expect(response.status).toBe(200);
  return (await response.json()) as Tokens;
};

describe("at the API", () => {
  test("a token spends the account of the key it was granted with, and sees the usage of the whole account", async () => {
    const account = await gateway.openAccount({ scope: "key" });
    expect((await gateway.post(account, "/v1/rerank", cheap)).status).toBe(200);
    const { access_token: token } = await signInWith(gateway.url, account.key);
    expect((await rerank(token)).status).toBe(200);
    const usage = await get(`/v1/usage?start_time=${Math.floor(Date.now() / 1000) - 3600}`, token);
    expect(await usage.json()).toMatchObject({ scope: "account", totals: { requests: 2 } });
    const receipts = (await (await get("/v1/requests", token)).json()) as { data?: unknown };
    expect(JSON.stringify(receipts)).toContain(account.keyId);
    expect(await gateway.audit()).toEqual([]);
  });

  test("a token sees what its sign-in may spend a day and what is left of it; a key has no such bound", async () => {
    const account = await gateway.openAccount({ creditUsd: "20" });
    const { access_token: token } = await signInWith(gateway.url, account.key, {
      per_call_usd: "2",
      per_day_usd: "5",
    });
    const limits = async (credential: string): Promise<unknown> =>
      ((await (await get("/v1/limits", credential)).json()) as { sign_in_budget: unknown }).sign_in_budget;
    const untouched = {
      window: "day",
      limit_micros_usd: 5_000_000,
      spent_micros_usd: 0,
      held_micros_usd: 0,
      remaining_micros_usd: 5_000_000,
      resets_at: new Date(Date.now() + passedMs).setUTCHours(24, 0, 0, 0) / 1000,
    };
    expect(await limits(token)).toEqual(untouched);
    expect((await get(snapshotPath, token)).status).toBe(200);
    // What the key itself spends is not the sign-in's.
    expect((await gateway.post(account, "/v1/rerank", cheap)).status).toBe(200);
    expect(await limits(token)).toEqual({
      ...untouched,
      spent_micros_usd: 2_000_000,
      remaining_micros_usd: 3_000_000,
    });
    expect(await limits(account.key)).toBeNull();
  });

  test("a token that may only read is refused a billed call, and may still read, count and quote", async () => {
    const account = await gateway.openAccount();
    const { access_token: token, scope } = await signInWith(gateway.url, account.key, { spend: "" });
    expect(scope).toBe("tools:read");
    const refused = await rerank(token);
    expect(refused.status).toBe(403);
    expect(await codeOf(refused)).toBe("insufficient_scope");
    expect((await get("/v1/credits/balance", token)).status).toBe(200);
    const quote = await fetch(gateway.url + snapshotPath, {
      headers: { ...bearer(token), "x-tollgate-cost-mode": "quote" },
    });
    expect(quote.status).toBe(200);
    expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
  });

  test("a token that may only read links, unlinks, cancels and applies for nothing", async () => {
    const account = await gateway.openAccount();
    const { access_token: reading } = await signInWith(gateway.url, account.key, { spend: "" });
    const { access_token: spending } = await signInWith(gateway.url, account.key);
    const wish = { expected_rpm: 100, expected_tpm: 100, models: ["m"], use_case: "u" };
    const changes: readonly (readonly [path: string, body: object | undefined, status: number])[] = [
      ["/apis/v1/social_a/auth_social_a", {}, 200],
      ["/apis/v1/social_a/links/none/revoke", undefined, 404],
      ["/apis/v1/services/aigc/tasks/none/cancel", undefined, 200],
      ["/v1/limits/requests", wish, 200],
    ];
    const send = (path: string, body: object | undefined, token: string): Promise<Response> =>
      fetch(gateway.url + path, {
        method: "POST",
        headers: { ...bearer(token), "content-type": "application/json" },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
    for (const [path, body, status] of changes) {
      const refused = await send(path, body, reading);
      expect([path, refused.status, await codeOf(refused)]).toEqual([path, 403, "insufficient_scope"]);
      expect([path, (await send(path, body, spending)).status]).toEqual([path, status]);
    }
    expect((await get("/apis/v1/social_a/links", reading)).status).toBe(200);
    expect((await get("/apis/v1/services/aigc/tasks/none", reading)).status).toBe(200);
  });

  test("a call above what the person covered needs approval, and costs nothing", async () => {
    const account = await gateway.openAccount({ creditUsd: "10" });
    const { access_token: token } = await signInWith(gateway.url, account.key, { per_call_usd: "1.999999" });
    const refused = await get(snapshotPath, token);
    expect(refused.status).toBe(403);
    const body = (await refused.json()) as { error: object };
    expect(body.error).toMatchObject({
      code: "approval_required",
      reason: "uncovered",
      estimated_micros_usd: 2_000_000,
      covered_micros_usd: 1_999_999,
    });
    expect(await gateway.balance(account)).toEqual({ balance: 10_000_000, held: 0 });
    const { access_token: wide } = await signInWith(gateway.url, account.key, { per_call_usd: "2" });
    expect((await get(snapshotPath, wide)).status).toBe(200);
    // A key is not a grant: what it pays at the API needs nobody's approval.
    expect((await gateway.call(account, snapshotPath)).status).toBe(200);
  });

  test("a day's bound holds for any number of calls at once, and the key's other callers are not bound by it", async () => {
    const account = await gateway.openAccount({ creditUsd: "100" });
    const fields = { per_call_usd: "5", per_day_usd: "6" };
    const { access_token: token } = await signInWith(gateway.url, account.key, fields);
    const statuses = await Promise.all(
      Array.from({ length: 12 }, async () => (await get(snapshotPath, token)).status),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(3);
    expect(statuses.filter((status) => status === 402)).toHaveLength(9);
    const refused = await get(snapshotPath, token);
    expect((await refused.json()) as object).toMatchObject({
      error: {
        code: "budget_exceeded",
        window: "day",
        limit_micros_usd: 6_000_000,
        spent_micros_usd: 6_000_000,
        held_micros_usd: 0,
      },
    });
    expect(await gateway.balance(account)).toEqual({ balance: 94_000_000, held: 0 });
    expect((await gateway.call(account, snapshotPath)).status).toBe(200);
    passedMs += 24 * 60 * 60_000;
    const fresh = await signInWith(gateway.url, account.key, fields);
    expect((await get(snapshotPath, fresh.access_token)).status).toBe(200);
    passedMs = 0;
    expect(await gateway.audit()).toEqual([]);
  });

  test("the budget and the end of the key behind a grant bind the grant as well", async () => {
    const account = await gateway.openAccount({
      creditUsd: "10",
      budget: { limitMicros: 1_000_000n, window: "total" },
    });
    const { access_token: token } = await signInWith(gateway.url, account.key, { per_call_usd: "5" });
    const refused = await get(snapshotPath, token);
    expect(refused.status).toBe(402);
    expect(await codeOf(refused)).toBe("budget_exceeded");
    await gateway.store.keys.revoke(account.keyId, Date.now());
    expect((await get("/v1/credits/balance", token)).status).toBe(401);
  });

  test("a browser stays signed in no longer than the secret that was typed there works", async () => {
    const account = await gateway.openAccount();
    const client = await registerClient(gateway.url);
    const person = createPerson(gateway.url, account.key);
    await person.allow(client.begin().url);
    const asksForKey = async (): Promise<boolean> =>
      (await person.open((await registerClient(gateway.url)).begin().url)).html.includes('name="key"');
    expect(await asksForKey()).toBe(false);
    const rotation = { keyId: account.keyId, last4: "new!", nowMs: Date.now() };
    const secretHash = new TextEncoder().encode(`rotated ${account.keyId}`);
    await gateway.store.keys.rotate({ ...rotation, secretHash, graceEndsAtMs: Date.now() + 60_000 });
    expect(await asksForKey()).toBe(false);
    const otherHash = new TextEncoder().encode(`again ${account.keyId}`);
    await gateway.store.keys.rotate({ ...rotation, secretHash: otherHash, graceEndsAtMs: Date.now() });
    expect(await asksForKey()).toBe(true);
  });

  test.each([
    ["in the query", (token: string) => fetch(`${gateway.url}/v1/credits/balance?access_token=${token}`)],
    [
      "in the body",
      (token: string) => fetch(`${gateway.url}/v1/rerank`, { method: "POST", body: `access_token=${token}` }),
    ],
    ["with a letter changed", (token: string) => get("/v1/credits/balance", otherLetter(token))],
    [
      "with a sign that no token has",
      (token: string) => get("/v1/credits/balance", `${token.slice(0, -1)}!`),
    ],
  ])("a token %s opens nothing", async (_, present) => {
    const account = await gateway.openAccount();
    const { access_token: token } = await signInWith(gateway.url, account.key);
    expect((await present(token)).status).toBe(401);
    expect((await get("/v1/credits/balance", token)).status).toBe(200);
  });

  test("an ID token, a refresh token and a code are no access tokens", async () => {
    const account = await gateway.openAccount();
    const client = await registerClient(gateway.url);
    const { url, verifier } = client.begin({ scope: "openid tools:read tools:spend" });
    const returned = await createPerson(gateway.url, account.key).allow(url);
    const code = returned.searchParams.get("code") ?? "";
    const tokens = await client.redeem(returned, verifier);
    expect(tokens.id_token?.split(".")).toHaveLength(3);
    for (const other of [tokens.id_token ?? "", tokens.refresh_token, code]) {
      for (const path of ["/v1/credits/balance", "/mcp"]) {
        const method = path === "/mcp" ? "POST" : "GET";
        const response = await fetch(gateway.url + path, { method, headers: bearer(other) });
        expect(response.status).toBe(401);
      }
    }
    expect((await get("/v1/credits/balance", tokens.access_token)).status).toBe(200);
  });

  test.each([
    ["without a signature", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0."],
    ["with a stranger's signature", "eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJzdWIiOiJ4In0.AAAA"],
    ["that only looks like ours", `tgo_${"a".repeat(36)}`],
    ["of another shape", "tgo_"],
  ])("a token %s is refused at every door", async (_, token) => {
    expect((await get("/v1/credits/balance", token)).status).toBe(401);
    expect((await fetch(`${gateway.url}/mcp`, { method: "POST", headers: bearer(token) })).status).toBe(401);
  });

  test("the vendor never sees whose token paid", async () => {
    const vendor = await openVendorDouble({ handlers: { "*": () => ({ status: 404 }) } });
    const upstream = `{ protocol: financialdatasets, url: "${vendor.url}", key: the-operators-own-key }`;
    const own = await openTestGateway({ config: `upstreams:\n  findata: ${upstream}\n` });
    try {
      const account = await own.openAccount();
      const { access_token: token } = await signInWith(own.url, account.key);
      await fetch(own.url + snapshotPath, { headers: bearer(token) });
      expect(vendor.requests).toHaveLength(1);
      expect(JSON.stringify(vendor.requests[0]?.headers)).toContain("the-operators-own-key");
      expect(JSON.stringify(vendor.requests)).not.toContain(token);
    } finally {
      await own.close();
      await vendor.close();
    }
  });

  test("a token for another audience is not ours, even from our own store", async () => {
    const account = await gateway.openAccount();
    const { access_token: token } = await signInWith(gateway.url, account.key);
    expect((await get("/v1/credits/balance", token)).status).toBe(200);
    await gateway.data.query(
      "UPDATE sign_in_record SET audience = 'https://other.example/mcp' WHERE kind = 'AccessToken'",
    );
    expect((await get("/v1/credits/balance", token)).status).toBe(401);
  });
});

describe("refreshing", () => {
  test("gives a new pair; the old refresh token works for half a minute, because clients race", async () => {
    const account = await gateway.openAccount();
    const { client, refresh_token: first } = await signInWith(gateway.url, account.key);
    const pairs = await Promise.all(
      Array.from({ length: 4 }, async () => tokensOf(await client.refresh(first))),
    );
    expect(new Set(pairs.map((pair) => pair.refresh_token)).size).toBe(4);
    for (const pair of pairs) expect((await rerank(pair.access_token)).status).toBe(200);
    passedMs = 29_000;
    await tokensOf(await client.refresh(first));
    passedMs = 0;
  });

  test("with a token that was rotated away longer ago ends everything of the grant", async () => {
    const account = await gateway.openAccount();
    const { client, refresh_token: first } = await signInWith(gateway.url, account.key);
    const second = await tokensOf(await client.refresh(first));
    passedMs = 30_001;
    const reused = await client.refresh(first);
    expect(reused.status).toBe(400);
    expect(await reused.json()).toMatchObject({ error: "invalid_grant" });
    expect((await rerank(second.access_token)).status).toBe(401);
    expect((await client.refresh(second.refresh_token)).status).toBe(400);
    passedMs = 0;
  });

  test("cannot widen what was granted, nor be done by another client", async () => {
    const account = await gateway.openAccount();
    const { client, refresh_token: token } = await signInWith(gateway.url, account.key, { spend: "" });
    const wider = await client.trade({
      grant_type: "refresh_token",
      refresh_token: token,
      scope: "tools:read tools:spend",
    });
    const scope = wider.status === 200 ? ((await wider.json()) as Tokens).scope : "none";
    expect(["none", "tools:read"]).toContain(scope);
    const other = await registerClient(gateway.url);
    expect(await (await other.refresh(token)).json()).toMatchObject({ error: "invalid_grant" });
  });

  test("ends with the grant's own time", async () => {
    const account = await gateway.openAccount();
    const {
      client,
      refresh_token: token,
      access_token: access,
    } = await signInWith(gateway.url, account.key, {
      days: "1",
    });
    passedMs = 24 * 60 * 60_000 - 60_000;
    const last = await tokensOf(await client.refresh(token));
    expect((await get("/v1/credits/balance", last.access_token)).status).toBe(200);
    passedMs = 24 * 60 * 60_000 + 1_000;
    const refused = await client.refresh(last.refresh_token);
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: "invalid_grant" }]);
    for (const ended of [access, last.access_token])
      expect((await get("/v1/credits/balance", ended)).status).toBe(401);
    passedMs = 0;
  });
});

describe("whoever takes too long", () => {
  const dayMs = 24 * 60 * 60_000;

  test.each([
    ["a code within its minute is traded", 58_000, 200],
    ["a code after its minute buys nothing", 60_000, 400],
  ])("%s", async (_, waitedMs, status) => {
    const account = await gateway.openAccount();
    const client = await registerClient(gateway.url);
    const { url, verifier } = client.begin();
    const returned = await createPerson(gateway.url, account.key).allow(url);
    passedMs = waitedMs;
    const traded = await client.trade({
      grant_type: "authorization_code",
      code: returned.searchParams.get("code") ?? "",
      redirect_uri: client.redirectUri,
      code_verifier: verifier,
    });
    passedMs = 0;
    expect(traded.status).toBe(status);
  });

  test.each([
    ["a client that comes back within thirty days goes on", 30 * dayMs - 60_000, 200],
    ["a client that comes back after thirty days has to be let in anew", 30 * dayMs, 400],
  ])("%s, whatever it was granted for", async (_, waitedMs, status) => {
    const account = await gateway.openAccount();
    const { client, refresh_token: token } = await signInWith(gateway.url, account.key, { days: "90" });
    passedMs = waitedMs;
    const refreshed = await client.refresh(token);
    passedMs = 0;
    expect(refreshed.status).toBe(status);
  });

  test.each([
    ["a person who thinks for nine minutes is let on", 9 * 60_000, true],
    ["a sign-in that was left for ten minutes is over", 10 * 60_000, false],
  ])("%s", async (_, waitedMs, left) => {
    const account = await gateway.openAccount();
    const client = await registerClient(gateway.url);
    const person = createPerson(gateway.url, account.key);
    const asked = await person.open(client.begin().url);
    const page = await person.submit(asked, { action: "sign_in", key: account.key });
    passedMs = waitedMs;
    const bounds = { spend: "yes", per_call_usd: "1", per_day_usd: "10", days: "30" };
    const done = await person.submit(page, { action: "allow", ...bounds });
    passedMs = 0;
    expect([done.left, (await gateway.store.grants.list(account.accountId)).length]).toEqual([
      left,
      left ? 1 : 0,
    ]);
  });
});

describe("revoking", () => {
  const waysToEnd: [
    string,
    (signedIn: Awaited<ReturnType<typeof signInWith>>, account: TestAccount) => Promise<unknown>,
  ][] = [
    [
      "the refresh token at the endpoint",
      ({ client, refresh_token: token }) => revoke(client.clientId, token),
    ],
    ["the access token at the endpoint", ({ client, access_token: token }) => revoke(client.clientId, token)],
    [
      "the grant from another process on the same data",
      async (_, account) => {
        const elsewhere = await gateway.data.open(systemClock);
        const [grant] = await elsewhere.grants.list(account.accountId);
        await elsewhere.grants.revoke(grant?.id ?? "", Date.now());
        await elsewhere.close();
      },
    ],
    ["the key behind it", (_, account) => gateway.store.keys.revoke(account.keyId, Date.now())],
  ];
  const revoke = async (clientId: string, token: string): Promise<void> => {
    const response = await fetch(`${gateway.url}/revoke`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ client_id: clientId, token }).toString(),
    });
    expect(response.status).toBe(200);
  };

  test.each(waysToEnd)("%s stops spending at once", async (_, end) => {
    const account = await gateway.openAccount();
    const signedIn = await signInWith(gateway.url, account.key);
    expect((await rerank(signedIn.access_token)).status).toBe(200);
    await end(signedIn, account);
    const before = await gateway.balance(account);
    expect((await rerank(signedIn.access_token)).status).toBe(401);
    expect((await signedIn.client.refresh(signedIn.refresh_token)).status).toBe(400);
    expect(await gateway.balance(account)).toEqual(before);
  });

  test("a stranger's client cannot end what is not its own", async () => {
    const account = await gateway.openAccount();
    const { access_token: token } = await signInWith(gateway.url, account.key);
    const other = await registerClient(gateway.url);
    await revoke(other.clientId, token);
    expect((await rerank(token)).status).toBe(200);
  });

  test("a call whose body was still on its way when the grant ended is not made", async () => {
    const account = await gateway.openAccount();
    const { access_token: token } = await signInWith(gateway.url, account.key);
    const [grant] = await gateway.store.grants.list(account.accountId);
    await gateway.sandbox.clear();
    let send: (() => void) | undefined;
    const sent = new Promise<void>((resolve) => (send = resolve));
    const text = new TextEncoder().encode(JSON.stringify(cheap));
    const body = new ReadableStream({
      async start(controller) {
        controller.enqueue(text.slice(0, 5));
        await sent;
        controller.enqueue(text.slice(5));
        controller.close();
      },
    });
    const headers = { ...bearer(token), "content-type": "application/json" };
    const calling = fetch(`${gateway.url}/v1/rerank`, { method: "POST", headers, body });
    await until(() => gateway.gateway.callsInFlight() > 0);
    await Bun.sleep(100);
    await gateway.store.grants.revoke(grant?.id ?? "", Date.now());
    send?.();
    expect((await calling).status).toBe(401);
    expect(await gateway.sandbox.book()).toEqual([]);
    expect(await gateway.balance(account)).toEqual({ balance: 2_000_000, held: 0 });
  });
});

test("a copy of the database and the log hold no key, token, code, verifier or cookie", async () => {
  const account = await gateway.openAccount();
  const client = await registerClient(gateway.url);
  const { url, verifier } = client.begin();
  const person = createPerson(gateway.url, account.key);
  const returned = await person.allow(url);
  const cookies = [...person.cookies.values()];
  const tokens = await client.redeem(returned, verifier);
  const next = await tokensOf(await client.refresh(tokens.refresh_token));
  await rerank(next.access_token);
  const secrets = [
    account.key,
    tokens.access_token,
    tokens.refresh_token,
    next.access_token,
    next.refresh_token,
    returned.searchParams.get("code") ?? "",
    verifier,
    ...cookies,
  ].filter((secret) => secret.length >= 20);
  expect(secrets.length).toBeGreaterThan(7);
  const stored = await gateway.data.everything();
  expect(stored).toContain(account.keyId);
  const places = [stored, gateway.logged.join("")];
  for (const secret of secrets) for (const place of places) expect(place.includes(secret)).toBe(false);
});

test("a sealed record moved to another token's place opens nothing", async () => {
  const client = await registerClient(gateway.url);
  const [thief, victim] = [await gateway.openAccount(), await gateway.openAccount()];
  const signIn = async ({ key }: TestAccount): Promise<Tokens> => {
    const { url, verifier } = client.begin();
    return client.redeem(await createPerson(gateway.url, key).allow(url), verifier);
  };
  const stolen = await signIn(thief);
  const own = await signIn(victim);
  const recordOf = async ({ accountId }: TestAccount): Promise<string> => {
    const [grant] = await gateway.store.grants.list(accountId);
    return `kind = 'RefreshToken' AND grant_id = '${grant?.id ?? ""}'`;
  };

  await gateway.data.query(
    `UPDATE sign_in_record
     SET sealed = (SELECT sealed FROM sign_in_record WHERE ${await recordOf(victim)})
     WHERE ${await recordOf(thief)}`,
  );

  expect((await client.refresh(stolen.refresh_token)).status).toBe(400);
  expect((await client.refresh(own.refresh_token)).status).toBe(200);
});
