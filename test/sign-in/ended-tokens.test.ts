// When an access token ends: as it is refreshed, with its grant's time, because somebody took too long or revokes it.

import { describe, expect, test } from "bun:test";
import { systemClock } from "../../gateway/src/platform/clock.ts";
import { openTestGateway, type TestAccount } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";
import { createPerson, registerClient, signInWith } from "./oauth-person.ts";
import { bearer, cheap, tokensOf, useTokenGateway } from "./token-gateway.ts";

const { gateway, letPass, get, rerank } = await useTokenGateway();

describe("refreshing", () => {
  test("gives a new pair; the old refresh token works for half a minute, because clients race", async () => {
    const account = await gateway.openAccount();
    const { client, refresh_token: first } = await signInWith(gateway.url, account.key);
    const pairs = await Promise.all(
      Array.from({ length: 4 }, async () => tokensOf(await client.refresh(first))),
    );
    expect(new Set(pairs.map((pair) => pair.refresh_token)).size).toBe(4);
    for (const pair of pairs) expect((await rerank(pair.access_token)).status).toBe(200);
    letPass(29_000);
    await tokensOf(await client.refresh(first));
  });

  test("with a token that was rotated away longer ago ends everything of the grant", async () => {
    const account = await gateway.openAccount();
    const { client, refresh_token: first } = await signInWith(gateway.url, account.key);
    const second = await tokensOf(await client.refresh(first));
    letPass(30_001);
    const reused = await client.refresh(first);
    expect(reused.status).toBe(400);
    expect(await reused.json()).toMatchObject({ error: "invalid_grant" });
    expect((await rerank(second.access_token)).status).toBe(401);
    expect((await client.refresh(second.refresh_token)).status).toBe(400);
  });

  test("cannot widen what was granted, nor be done by another client", async () => {
    const account = await gateway.openAccount();
    const { client, refresh_token: token } = await signInWith(gateway.url, account.key, { spend: "" });
    const wider = await client.trade({
      grant_type: "refresh_token",
      refresh_token: token,
      scope: "tools:read tools:spend",
    });
    expect([wider.status, await wider.json()]).toMatchObject([400, { error: "invalid_scope" }]);
    const other = await registerClient(gateway.url);
    expect(await (await other.refresh(token)).json()).toMatchObject({ error: "invalid_grant" });
  });

  test("has a limit for each grant; a client that is told to wait comes back with the token it has", async () => {
    const clock = createVirtualClock(Date.now());
    const timed = await openTestGateway({ clock });
    const account = await timed.openAccount();
    const { client, refresh_token: first } = await signInWith(timed.url, account.key);
    let token = first;
    for (let n = 0; n < 20; n++) token = (await tokensOf(await client.refresh(token))).refresh_token;
    const refused = await client.refresh(token);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(await refused.json()).toMatchObject({ error: "temporarily_unavailable" });
    const other = await signInWith(timed.url, account.key);
    await tokensOf(await other.client.refresh(other.refresh_token));
    clock.advance(60_000);
    await tokensOf(await client.refresh(token));
    await timed.close();
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
    letPass(24 * 60 * 60_000 - 60_000);
    const last = await tokensOf(await client.refresh(token));
    expect((await get("/v1/credits/balance", last.access_token)).status).toBe(200);
    letPass(24 * 60 * 60_000 + 1_000);
    const refused = await client.refresh(last.refresh_token);
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: "invalid_grant" }]);
    for (const ended of [access, last.access_token])
      expect((await get("/v1/credits/balance", ended)).status).toBe(401);
  });
});

describe("whoever takes too long", () => {
  const dayMs = 24 * 60 * 60_000;

  test.each([
    ["a code within its minute is traded", 50_000, 200],
    ["a code after its minute buys nothing", 60_000, 400],
  ])("%s", async (_, waitedMs, status) => {
    const account = await gateway.openAccount();
    const client = await registerClient(gateway.url);
    const { url, verifier } = client.begin();
    const returned = await createPerson(gateway.url, account.key).allow(url);
    letPass(waitedMs);
    const traded = await client.trade({
      grant_type: "authorization_code",
      code: returned.searchParams.get("code") ?? "",
      redirect_uri: client.redirectUri,
      code_verifier: verifier,
    });
    expect(traded.status).toBe(status);
  });

  test.each([
    ["a client that comes back within thirty days goes on", 30 * dayMs - 60_000, 200],
    ["a client that comes back after thirty days has to be let in anew", 30 * dayMs, 400],
  ])("%s, whatever it was granted for", async (_, waitedMs, status) => {
    const account = await gateway.openAccount();
    const { client, refresh_token: token } = await signInWith(gateway.url, account.key, { days: "90" });
    letPass(waitedMs);
    const refreshed = await client.refresh(token);
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
    letPass(waitedMs);
    const bounds = { spend: "yes", per_call_usd: "1", per_day_usd: "10", days: "30" };
    const done = await person.submit(page, { action: "allow", ...bounds });
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
