import { describe, expect, test } from "bun:test";
import { openShelfFile, type ShelfFile } from "../../shelf-file.ts";
import { anyString, at, containing, createTestSandbox, matching } from "../../test-sandbox.ts";
import { basic, callback, createRequest, createVisitor, everyday } from "./test-visitor.ts";

const publicUrl = "http://gate.test/s";
const ada = "1801000000000000101";
const ben = "1801000000000000102";
const cleo = "1801000000000000103";

function openPlatform(file?: ShelfFile) {
  const sandbox = createTestSandbox({ publicUrl, file });
  const visitor = createVisitor({ fetch: (request) => sandbox.fetch(request), publicUrl });

  const authorize = async (changed: Record<string, string> = {}, person = "ada") => {
    const { url, verifier } = createRequest(publicUrl, changed);
    const login = await visitor.open(url);
    const consent = /Demo persons/.test(login.html) ? await visitor.submit(login, { person }) : login;
    const { url: back } = await visitor.submit(consent, { decision: "allow" });
    return { verifier, back, code: back.searchParams.get("code") ?? "" };
  };
  const post = (path: string, form: Record<string, string>, authorization = basic) =>
    sandbox.ask("POST", `/x/2/oauth2/${path}`, {
      headers: { authorization, "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams(form).toString(),
    });
  const exchange = (code: string, verifier: string, changed: Record<string, string> = {}) =>
    post("token", {
      grant_type: "authorization_code",
      code,
      redirect_uri: callback,
      code_verifier: verifier,
      client_id: "tollgate-sandbox",
      ...changed,
    });
  const refresh = (token: string) =>
    post("token", { grant_type: "refresh_token", refresh_token: token, client_id: "tollgate-sandbox" });
  const link = async (changed: Record<string, string> = {}, person = "ada") => {
    const { code, verifier } = await authorize(changed, person);
    const { json } = await exchange(code, verifier);
    return { access: String(at(json, "access_token")), refresh: String(at(json, "refresh_token")), json };
  };
  const call = (method: string, path: string, token: string, body?: unknown) =>
    sandbox.ask(method, `/x/2${path}`, { headers: { authorization: `Bearer ${token}` }, body });
  const follow = (token: string, target: unknown = ben, source = ada) =>
    call("POST", `/users/${source}/following`, token, { target_user_id: target });
  const billed = () => sandbox.book.read().entries.map((entry) => entry.billed);

  return { ...sandbox, visitor, authorize, exchange, refresh, revoke: post, link, call, follow, billed };
}

const invalidGrant = { status: 400, json: { error: "invalid_grant", error_description: anyString } };
const unauthorized = {
  status: 401,
  json: { title: "Unauthorized", detail: "Unauthorized", type: "about:blank", status: 401 },
};

describe("a person's way", () => {
  test("leads from the authorization request over sign-in and consent to a follow", async () => {
    const { visitor, exchange, call, follow, billed } = openPlatform();
    const { url, verifier } = createRequest(publicUrl);

    const login = await visitor.open(url);
    expect(login.status).toBe(200);
    expect(login.url.href).toStartWith(`${publicUrl}/x/interaction/`);
    expect(login.html).toContain("Sandbox platform, nothing real");
    expect(login.html).toContain("Ada (@ada)");

    const consent = await visitor.submit(login, { person: "ada" });
    expect(consent.status).toBe(200);
    for (const words of [
      "Tollgate (sandbox)",
      "Ada (@ada)",
      "Follow and unfollow accounts for you",
      "127.0.0.1:8787",
    ])
      expect(consent.html).toContain(words);
    expect(consent.html).not.toContain("dm.write");

    const { url: back } = await visitor.submit(consent, { decision: "allow" });
    expect(back.href).toStartWith(`${callback}?`);
    expect<unknown>(Object.fromEntries(back.searchParams)).toEqual({
      code: matching(/^[\w-]{40,}$/),
      state: "the state",
      iss: `${publicUrl}/x`,
    });

    const { status, json } = await exchange(back.searchParams.get("code") ?? "", verifier);
    expect({ status, json }).toEqual({
      status: 200,
      json: {
        token_type: "bearer",
        expires_in: 7200,
        access_token: matching(/^[\w-]{40,}$/),
        refresh_token: matching(/^[\w-]{40,}$/),
        scope: everyday,
      },
    });
    const token = String(at(json, "access_token"));
    expect((await call("GET", "/users/me", token)).json).toEqual({
      data: { id: ada, name: "Ada", username: "ada" },
    });
    expect(await follow(token)).toMatchObject({
      status: 200,
      json: { data: { following: true, pending_follow: false } },
    });
    expect(billed()).toEqual([{ authorization_code: 1 }, { reads: 1 }, { follows: 1 }]);
  });

  test("shows pages that no other site may frame, and that load nothing", async () => {
    const { visitor } = openPlatform();
    const { headers, html } = await visitor.open(createRequest(publicUrl).url);
    expect(headers?.get("content-security-policy")).toContain("default-src 'none'");
    expect(headers?.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers?.get("cache-control")).toBe("no-store");
    expect(html).not.toMatch(/<script|src=|https?:\/\/(?!gate\.test\/s\/x\/)/);
    expect([...visitor.cookies.values()].every(({ path }) => path.startsWith("/s/x"))).toBe(true);
  });

  test("asks for consent again when signed in, and lets the person be somebody else", async () => {
    const { visitor, authorize } = openPlatform();
    await authorize();
    const again = await visitor.open(createRequest(publicUrl).url);
    expect(again.html).toContain('id="allow"');

    const switched = /id="switch" href="([^"]+)"/.exec(again.html)?.[1]?.replaceAll("&amp;", "&") ?? "";
    const login = await visitor.open(switched);
    const consent = await visitor.submit(login, { person: "ben" });
    expect(consent.html).toContain("Ben (@ben)");
  });

  test("ends with access_denied when the person denies", async () => {
    const { visitor } = openPlatform();
    const consent = await visitor.submit(await visitor.open(createRequest(publicUrl).url), { person: "ben" });
    const { url } = await visitor.submit(consent, { decision: "deny" });
    expect(url.href).toStartWith(`${callback}?`);
    expect<unknown>(Object.fromEntries(url.searchParams)).toEqual({
      error: "access_denied",
      error_description: anyString,
      state: "the state",
      iss: `${publicUrl}/x`,
    });
  });

  test("stops at a choice that was not offered, and at a page of another browser", async () => {
    const { visitor, ...sandbox } = openPlatform();
    const login = await visitor.open(createRequest(publicUrl).url);
    expect((await visitor.submit(login, { person: "nobody" })).status).toBe(400);
    const stranger = createVisitor({ fetch: (request) => sandbox.fetch(request), publicUrl });
    expect(await stranger.submit(login, { person: "ada" })).toMatchObject({
      status: 400,
      html: containing("belongs to another browser"),
    });
    const consent = await visitor.submit(login, { person: "ada" });
    expect((await visitor.submit(consent, { decision: "perhaps" })).status).toBe(400);
  });

  test("lies below the address that the gateway names", async () => {
    const sandbox = createTestSandbox({ publicUrl });
    const base = "https://other.test/deep/sandbox";
    const response = await sandbox.fetch(
      new Request(createRequest("http://sandbox.test/public").url, { headers: { "x-public-base": base } }),
    );
    expect(response.status).toBe(303);
    expect(response.headers.get("location")).toStartWith(`${base}/x/interaction/`);
    const cookies = response.headers.getSetCookie();
    expect(cookies.length).toBeGreaterThan(1);
    expect(
      cookies.every((line) => /; path=\/deep\/sandbox\/x\//.test(line) && line.includes("; secure")),
    ).toBe(true);
  });

  test("opens no other path of the authorization server to the public", async () => {
    const { ask } = openPlatform();
    for (const path of ["/oauth2/token", "/jwks", "/.well-known/openid-configuration", "/interaction/", "/"])
      expect((await ask("GET", `/public/x${path}`)).status).toBe(404);
  });
});

describe("an authorization request", () => {
  const sentBack = async (changed: Record<string, string | undefined>) =>
    /[?&#]error=(\w+)/.exec(
      (await openPlatform().visitor.open(createRequest(publicUrl, changed).url)).url.href,
    )?.[1];

  test("without a proof key, or with a plain one, is sent back", async () => {
    expect(await sentBack({ code_challenge: undefined, code_challenge_method: undefined })).toBe(
      "invalid_request",
    );
    expect(await sentBack({ code_challenge_method: "plain" })).toBe("invalid_request");
  });

  test("for another response than a code, or for a scope that does not exist, is sent back", async () => {
    expect(await sentBack({ response_type: "token" })).toBe("unsupported_response_type");
    expect(await sentBack({ scope: "users.read world.rule" })).toBe("invalid_scope");
  });

  test("with a wrong address to come back to, or of an unknown app, is never sent anywhere", async () => {
    const { visitor } = openPlatform();
    for (const changed of [
      { redirect_uri: "https://evil.example/" },
      { redirect_uri: "javascript://evil.example/oauth_callback" },
      { redirect_uri: "https://user@evil.example/oauth_callback" },
      { client_id: "somebody" },
    ]) {
      const page = await visitor.open(createRequest(publicUrl, changed).url);
      expect(page).toMatchObject({ status: 400, html: containing("This did not work") });
    }
  });

  test("is answered under another name when a test asks for that, once", async () => {
    const { ask, authorize } = openPlatform();
    const iss = "https://evil.example";
    expect((await ask("POST", "/_control/x/issuer", { body: { iss } })).status).toBe(204);
    expect((await authorize()).back.searchParams.get("iss")).toBe(iss);
    expect((await authorize()).back.searchParams.get("iss")).toBe(`${publicUrl}/x`);
    expect((await ask("POST", "/_control/x/issuer", { body: {} })).status).toBe(400);
  });
});

describe("tokens", () => {
  test("are refused for a bogus code, a wrong verifier, a wrong address, a foreign code and a wrong secret", async () => {
    const { authorize, exchange, revoke: post, billed } = openPlatform();
    const first = await authorize();
    const second = await authorize();
    expect(await exchange("bogus", first.verifier)).toMatchObject(invalidGrant);
    expect(await exchange(first.code, second.verifier)).toMatchObject(invalidGrant);
    const elsewhere = { redirect_uri: "http://127.0.0.1:1/oauth_callback" };
    expect(await exchange(second.code, second.verifier, elsewhere)).toMatchObject(invalidGrant);
    const form = { grant_type: "authorization_code", code: first.code, redirect_uri: callback };
    expect(await post("token", form)).toMatchObject(invalidGrant);
    expect(await post("token", form, `Basic ${btoa("tollgate-sandbox:guess")}`)).toMatchObject({
      status: 401,
      json: { error: "invalid_client" },
    });
    expect(billed()).toEqual([null, null, null, null, null]);
  });

  test("given for a code end when the code is used again", async () => {
    const { authorize, exchange, follow } = openPlatform();
    const { code, verifier } = await authorize();
    const token = String(at((await exchange(code, verifier)).json, "access_token"));
    expect((await follow(token)).status).toBe(200);
    expect(await exchange(code, verifier)).toMatchObject(invalidGrant);
    expect(await follow(token)).toMatchObject(unauthorized);
  });

  test("to refresh are given only with offline.access", async () => {
    const { link } = openPlatform();
    expect((await link({ scope: "users.read tweet.read" })).json).not.toHaveProperty("refresh_token");
    expect((await link()).json).toHaveProperty("refresh_token");
  });

  test("to refresh rotate; one used a second time ends all that came of it", async () => {
    const { link, refresh, follow, billed } = openPlatform();
    const { access, refresh: old } = await link();
    const { status, json } = await refresh(old);
    const fresh = { access: String(at(json, "access_token")), refresh: String(at(json, "refresh_token")) };
    expect(status).toBe(200);
    expect(new Set([access, old, fresh.access, fresh.refresh]).size).toBe(4);
    expect((await follow(fresh.access)).status).toBe(200);

    expect(await refresh(old)).toMatchObject(invalidGrant);
    expect(await refresh(fresh.refresh)).toMatchObject(invalidGrant);
    expect(await follow(fresh.access)).toMatchObject(unauthorized);
    expect(billed().filter((units) => units?.["refresh_token"] === 1)).toHaveLength(1);
  });

  test("to refresh serve one of many who use them at the same time", async () => {
    const { link, refresh } = openPlatform();
    const { refresh: token } = await link();
    const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(token)));
    expect(answers.map(({ status }) => status)).toEqual([200, ...Array<number>(49).fill(400)]);
  });

  test("that were revoked work no more; revoking one link leaves the other", async () => {
    const { link, revoke, refresh, follow, billed } = openPlatform();
    const [one, other] = [await link(), await link({}, "ada")];
    expect(await revoke("revoke", { token: one.refresh })).toMatchObject({
      status: 200,
      json: { revoked: true },
    });
    expect(await follow(one.access)).toMatchObject(unauthorized);
    expect(await refresh(one.refresh)).toMatchObject(invalidGrant);
    expect((await follow(other.access)).status).toBe(200);
    expect(
      (await revoke("revoke", { token: other.refresh }, `Basic ${btoa("tollgate-sandbox:guess")}`)).status,
    ).toBe(401);
    expect(billed().filter((units) => units?.["revocations"] === 1)).toHaveLength(1);
  });

  test("are in a new program what they were in the one before: good, used, or revoked", async () => {
    const file = openShelfFile(":memory:", Date.now());
    const before = openPlatform(file);
    const [kept, revoked, used] = [await before.link(), await before.link(), await before.link()];
    await before.revoke("revoke", { token: revoked.refresh });
    await before.refresh(used.refresh);

    const { follow, refresh } = openPlatform(file);
    expect((await follow(kept.access)).status).toBe(200);
    expect((await refresh(kept.refresh)).status).toBe(200);
    expect(await follow(revoked.access)).toMatchObject(unauthorized);
    for (const token of [kept, revoked, used])
      expect(await refresh(token.refresh)).toMatchObject(invalidGrant);
  });

  test("run out when a test wants it: those for access, or all", async () => {
    const { ask, link, refresh, follow } = openPlatform();
    const { access, refresh: token } = await link();
    expect((await ask("POST", "/_control/x/expire", { body: { tokens: "access" } })).json).toEqual({
      expired: 1,
    });
    expect(await follow(access)).toMatchObject(unauthorized);
    const { json } = await refresh(token);
    expect((await follow(String(at(json, "access_token")))).status).toBe(200);

    await ask("POST", "/_control/x/expire", { body: { tokens: "all" } });
    expect(await refresh(String(at(json, "refresh_token")))).toMatchObject(invalidGrant);
    expect((await ask("POST", "/_control/x/expire", { body: {} })).status).toBe(400);
  });
});

describe("calls for a person", () => {
  test("need a token that is known, with the scopes of the call, of the person in the path", async () => {
    const { link, call, follow, billed, ask } = openPlatform();
    const poor = await link({ scope: "follows.write" });
    const rich = await link({}, "ada");
    await ask("DELETE", "/_control/book");

    expect(await follow("unknown")).toMatchObject(unauthorized);
    expect(await follow("")).toMatchObject(unauthorized);
    const forbidden = { status: 403, json: { title: "Forbidden", type: "about:blank", status: 403 } };
    expect(await follow(poor.access)).toMatchObject(forbidden);
    expect(await call("GET", "/users/me", poor.access)).toMatchObject(forbidden);
    expect(await follow(rich.access, cleo, ben)).toMatchObject(forbidden);
    expect(await follow(rich.access, ada)).toMatchObject(forbidden);
    expect((await call("GET", "/tweets", rich.access)).status).toBe(404);
    expect(billed().every((units) => units === null)).toBe(true);
  });

  test("to follow wait for a protected account, and refuse an id that is none", async () => {
    const { link, follow } = openPlatform();
    const { access } = await link();
    expect((await follow(access, cleo)).json).toEqual({ data: { following: false, pending_follow: true } });
    for (const target of ["ben", "", 12, null]) {
      expect(await follow(access, target)).toMatchObject({
        status: 400,
        json: {
          type: "https://api.twitter.com/2/problems/invalid-request",
          errors: [{ message: anyString }],
        },
      });
    }
  });

  test("and the token's own meet faults, each in the shape of its path", async () => {
    const { ask, link, follow, refresh, billed } = openPlatform();
    const { access, refresh: token } = await link();
    await ask("POST", "/_control/faults", {
      body: { vendor: "x", path_contains: "/following", status: 429 },
    });
    await ask("POST", "/_control/faults", {
      body: { vendor: "x", path_contains: "/oauth2/token", status: 503 },
    });
    expect(await follow(access)).toMatchObject({
      status: 429,
      json: { title: "Too Many Requests", status: 429 },
    });
    expect(await refresh(token)).toMatchObject({ status: 503, json: { error: "server_error" } });
    // The fault kept the call from the server: the token is still unused.
    expect((await refresh(token)).status).toBe(200);
    expect(billed().slice(-3)).toEqual([null, null, { refresh_token: 1 }]);
  });
});
