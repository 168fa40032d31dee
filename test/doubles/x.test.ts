// The double of X, measured before it measures the gateway.

import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { createKeeper, get, post, refusalOf } from "./exchange.ts";
import { openXDouble, protectedPersonId, type XDouble } from "./x.ts";

const keep = createKeeper();
const open = () => keep(openXDouble({ clientId: "app", clientSecret: "s-1" }));
const redirectUri = "https://gateway.test/apis/v1/social_a/oauth_callback";
const verifier = "v".repeat(43);

const pageOf = (platform: XDouble, scope: string): string =>
  `${platform.authorizeUrl}?${new URLSearchParams({
    response_type: "code",
    client_id: "app",
    redirect_uri: redirectUri,
    scope,
    state: "st",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  }).toString()}`;

const askToken = (url: string, form: Record<string, string>, basic = "app:s-1") =>
  fetch(url, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(basic)}` },
    body: new URLSearchParams({ client_id: "app", ...form }),
  });

async function exchange(platform: XDouble, scope: string, changed: Record<string, string> = {}) {
  const back = new URL(platform.agree(pageOf(platform, scope)));
  expect(back.searchParams.get("state")).toBe("st");
  const code = back.searchParams.get("code") ?? "";
  const form = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier };
  return askToken(platform.tokenUrl, { ...form, ...changed });
}

interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
}

test("a code becomes a token once, for the app and the verifier it was made for", async () => {
  const platform = await open();
  const tokens = (await (await exchange(platform, "users.read tweet.read")).json()) as Tokens;
  expect(tokens).toMatchObject({ token_type: "bearer", expires_in: 7200, scope: "users.read tweet.read" });
  expect(tokens).not.toHaveProperty("refresh_token");
  expect((await exchange(platform, "a", { code_verifier: "w".repeat(43) })).status).toBe(400);
  expect((await exchange(platform, "a", { redirect_uri: "https://elsewhere.test" })).status).toBe(400);
  expect((await exchange(platform, "a", { code: "another" })).status).toBe(400);
  const wrongApp = askToken(platform.tokenUrl, { grant_type: "refresh_token" }, "app:s-2");
  expect(await refusalOf(wrongApp)).toMatchObject({ status: 401, body: { error: "invalid_client" } });
});

test("a refresh token comes with offline.access only, and works once", async () => {
  const platform = await open();
  const first = (await (await exchange(platform, "offline.access")).json()) as Tokens;
  const refresh = () =>
    askToken(platform.tokenUrl, { grant_type: "refresh_token", refresh_token: first.refresh_token ?? "" });
  expect((await refresh()).status).toBe(200);
  expect(await refusalOf(refresh())).toMatchObject({ status: 400, body: { error: "invalid_request" } });
});

test("a follow needs its scopes, the member's own id and a target of digits", async () => {
  const platform = await open();
  const scopes = "tweet.read users.read follows.write";
  const { access_token: token } = (await (await exchange(platform, scopes)).json()) as Tokens;
  const bearer = { authorization: `Bearer ${token}` };
  const path = `${platform.url}/users/2244994945/following`;
  const me = await get(`${platform.url}/users/me`, bearer);
  expect(await me.json()).toEqual({ data: { id: "2244994945", name: "Ada", username: "ada_l" } });
  expect(await (await post(path, { target_user_id: "6253282" }, bearer)).json()).toEqual({
    data: { following: true, pending_follow: false },
  });
  expect(await (await post(path, { target_user_id: protectedPersonId }, bearer)).json()).toEqual({
    data: { following: false, pending_follow: true },
  });
  expect((await post(path, { target_user_id: "x" }, bearer)).status).toBe(400);
  expect((await post(`${platform.url}/users/1/following`, {}, bearer)).status).toBe(403);
  const { access_token: weak } = (await (await exchange(platform, "users.read")).json()) as Tokens;
  expect((await post(path, {}, { authorization: `Bearer ${weak}` })).status).toBe(403);
  platform.expire();
  expect((await post(path, {}, bearer)).status).toBe(401);
  expect(platform.book.filter(({ billed }) => billed.what === "follow")).toHaveLength(2);
});

test("a revoked token is none", async () => {
  const platform = await open();
  const { access_token: token } = (await (
    await exchange(platform, "tweet.read users.read")
  ).json()) as Tokens;
  expect(await (await askToken(platform.revokeUrl, { token })).json()).toEqual({ revoked: true });
  expect((await get(`${platform.url}/users/me`, { authorization: `Bearer ${token}` })).status).toBe(401);
});
