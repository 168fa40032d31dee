// What an access token is good for after sign-in, and what is none: at every door, with money at stake.

import { describe, expect, test } from "bun:test";
import { openVendorDouble } from "../doubles/vendor-double.ts";
import { codeOf } from "../support/answers.ts";
import { snapshotPath } from "../support/purchases.ts";
import { openTestGateway, type TestAccount } from "../support/test-gateway.ts";
import { createPerson, registerClient, signInWith, type Tokens } from "./oauth-person.ts";
import { bearer, cheap, tokensOf, useTokenGateway } from "./token-gateway.ts";

const { gateway, letPass, get, rerank } = await useTokenGateway();

/** A token that looks like one, and is none. */
const otherLetter = (token: string): string => `${token.slice(0, -1)}${token.endsWith("a") ? "b" : "a"}`;

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
      resets_at: new Date(Date.now()).setUTCHours(24, 0, 0, 0) / 1000,
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
    letPass(24 * 60 * 60_000);
    const fresh = await signInWith(gateway.url, account.key, fields);
    expect((await get(snapshotPath, fresh.access_token)).status).toBe(200);
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
