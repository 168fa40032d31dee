// Signing in, met as clients and people meet it: over HTTP, with a browser that keeps cookies.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { completeAddresses } from "../../gateway/src/config/addresses.ts";
import { askModern } from "../agents/agent-client.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/harness.ts";
import { createClient, createPerson, redirectUri, registerClient, signInWith } from "./oauth-person.ts";

let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await openTestGateway({
    config:
      "mcp:\n  clients:\n    desk: { name: Desk, redirect_uris: ['http://127.0.0.1:4711/callback', 'https://desk.example/cb?x=1'] }\n",
  });
  account = await gateway.openAccount({ creditUsd: "50" });
});
afterAll(() => gateway.close());

const desk = () => createClient(gateway.url, "desk");
const person = () => createPerson(gateway.url, account.key);

/** What came back to the client's redirect, or the page that was shown instead. */
async function outcome(url: string): Promise<{ error: string; description: string; left: boolean }> {
  const opened = await person().open(url);
  // What was asked for as an implicit answer is refused in the same place.
  const searchParams = new URLSearchParams(opened.url.search || opened.url.hash.slice(1));
  return {
    error: opened.left ? (searchParams.get("error") ?? "none") : String(opened.response.status),
    description: opened.left ? (searchParams.get("error_description") ?? "") : opened.html,
    left: opened.left,
  };
}

const usualBounds = { per_call_usd: "1", per_day_usd: "10", days: "30" };

/** Somebody who signed in and has the question before them; what they press is answered, and nobody goes on from there. */
async function openConsent(url: string, owner: TestAccount) {
  const browser = createPerson(gateway.url, owner.key);
  const page = await browser.submit(await browser.open(url), { action: "sign_in", key: owner.key });
  const csrf = /name="csrf" value="([^"]*)"/.exec(page.html)?.[1] ?? "";
  const press = async (fields: Readonly<Record<string, string>>) => {
    const response = await fetch(page.url, {
      method: "POST",
      headers: {
        cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; "),
        "content-type": "application/x-www-form-urlencoded",
      },
      body: new URLSearchParams({ csrf, ...usualBounds, ...fields }).toString(),
    });
    const next = response.headers.get("refresh")?.replace(/^0; url=/, "") ?? "";
    return {
      status: response.status,
      text: () => response.text(),
      onward: async (): Promise<URL> => (await browser.open(next)).url,
    };
  };
  return { browser, page, press };
}

describe("metadata", () => {
  test("the protected resource is described at the root and at its path, and names its issuer", async () => {
    for (const path of ["", "/mcp"]) {
      const response = await fetch(`${gateway.url}/.well-known/oauth-protected-resource${path}`);
      expect(await response.json()).toEqual({
        resource: `${gateway.url}/mcp`,
        authorization_servers: [gateway.url],
        scopes_supported: ["tools:read", "tools:spend"],
        bearer_methods_supported: ["header"],
        resource_name: "Tollgate",
      });
    }
  });

  test.each(["oauth-authorization-server", "openid-configuration"])(
    "%s says what clients must know",
    async (name) => {
      const response = await fetch(`${gateway.url}/.well-known/${name}`);
      expect(await response.json()).toMatchObject({
        issuer: gateway.url,
        authorization_endpoint: `${gateway.url}/authorize`,
        token_endpoint: `${gateway.url}/token`,
        registration_endpoint: `${gateway.url}/register`,
        revocation_endpoint: `${gateway.url}/revoke`,
        code_challenge_methods_supported: ["S256"],
        response_types_supported: ["code"],
        grant_types_supported: ["authorization_code", "refresh_token"],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
      });
      const again = (await (await fetch(`${gateway.url}/.well-known/${name}`)).json()) as Record<
        string,
        string[]
      >;
      expect(again["token_endpoint_auth_methods_supported"]).toContain("none");
      for (const scope of ["tools:read", "tools:spend", "offline_access"]) {
        expect(again["scopes_supported"]).toContain(scope);
      }
    },
  );

  test.each([
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/authorize",
    "/token",
    "/register",
    "/revoke",
    "/oauth/grants",
    "/oauth/jwks",
  ])("%s does not answer under another host's name", async (path) => {
    for (const host of ["evil.example", `evil.example:${gateway.port}`, "localhost.evil.example"]) {
      const response = await fetch(gateway.url + path, { headers: { host } });
      expect(response.status).toBe(403);
      expect(await response.text()).not.toContain("evil");
    }
  });
});

test("behind https everything speaks https, cookies too, and a resource without a path may end in a slash", async () => {
  const addresses = completeAddresses("https://gateway.example", { mcpUrl: "https://agents.example" });
  const own = await openTestGateway({ parts: { addresses } });
  try {
    const ask = (path: string, init: RequestInit = {}, host = "gateway.example"): Promise<Response> =>
      fetch(own.url + path, { ...init, redirect: "manual", headers: { ...init.headers, host } });
    const metadata = (await (await ask("/.well-known/oauth-authorization-server")).json()) as Record<
      string,
      string
    >;
    expect(metadata["issuer"]).toBe("https://gateway.example");
    expect(metadata["token_endpoint"]).toBe("https://gateway.example/token");
    const resource = await ask("/.well-known/oauth-protected-resource", {}, "agents.example");
    expect(await resource.json()).toMatchObject({
      resource: "https://agents.example",
      authorization_servers: ["https://gateway.example"],
    });
    const registered = await ask("/register", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ redirect_uris: [redirectUri] }),
    });
    const { client_id: id } = (await registered.json()) as { client_id: string };
    const { url } = createClient("https://gateway.example", id).begin({
      resource: "https://agents.example/",
    });
    const begun = await ask(url.replace("https://gateway.example", ""));
    expect(begun.status).toBe(303);
    const page = await ask(begun.headers.get("location") ?? "", {
      headers: {
        cookie: begun.headers
          .getSetCookie()
          .map((one) => one.split(";")[0])
          .join("; "),
      },
    });
    expect(page.status).toBe(200);
    const cookies = [...begun.headers.getSetCookie(), ...page.headers.getSetCookie()];
    expect(cookies.length).toBeGreaterThan(2);
    for (const cookie of cookies)
      expect(cookie.toLowerCase()).toMatch(/; ?secure.*; ?httponly|; ?httponly.*; ?secure/);
    expect(cookies.some((cookie) => cookie.startsWith("__Host-tollgate_browser="))).toBe(true);
  } finally {
    await own.close();
  }
});

describe("asking", () => {
  test("a sign-in without a scope asks for the usual ones, and the answer names its issuer and its state", async () => {
    const client = desk();
    const { url, verifier } = client.begin({ scope: undefined, resource: undefined });
    const returned = await person().allow(url);
    expect(returned.searchParams.get("iss")).toBe(gateway.url);
    expect(returned.searchParams.get("state")).toBe("state-1");
    const tokens = await client.redeem(returned, verifier);
    expect(tokens).toMatchObject({ token_type: "Bearer", scope: "tools:read tools:spend", expires_in: 3600 });
    expect(tokens.access_token).toMatch(/^tgo_[0-9A-Za-z]{36}$/);
    expect(tokens.refresh_token).toMatch(/^tgr_[0-9A-Za-z]{36}$/);
  });

  test.each([
    ["no challenge", { code_challenge: undefined, code_challenge_method: undefined }, "invalid_request"],
    ["the plain method", { code_challenge_method: "plain" }, "invalid_request"],
    ["a challenge without its method", { code_challenge_method: undefined }, "invalid_request"],
    ["another resource", { resource: "https://other.example/mcp" }, "invalid_target"],
    ["the API as resource", { resource: "http://127.0.0.1/v1" }, "invalid_target"],
    ["an implicit answer", { response_type: "token" }, "unsupported_response_type"],
    ["a hybrid answer", { response_type: "code id_token" }, "unsupported_response_type"],
    ["no question to the person", { prompt: "none" }, "login_required"],
  ])("%s is refused", async (_, changed, error) => {
    const result = await outcome(desk().begin(changed).url);
    expect(result).toMatchObject({ error, left: true });
  });

  test.each([
    ["another path", "http://127.0.0.1:4711/other"],
    ["a longer path", "http://127.0.0.1:4711/callback/more"],
    ["a climbing path", "http://127.0.0.1:4711/x/../callback"],
    ["an added query", "http://127.0.0.1:4711/callback?a=1"],
    ["another loopback name", "http://localhost:4711/callback"],
    ["https where http is registered", "https://127.0.0.1:4711/callback"],
    ["another host", "http://evil.example/callback"],
    ["a user name before the host", "http://127.0.0.1:4711@evil.example/callback"],
    ["a user name on the loopback", "http://x@127.0.0.1:4711/callback"],
    ["a fragment", "http://127.0.0.1:4711/callback#x"],
    ["a script", "javascript:alert(1)"],
    ["another port off the loopback", "https://desk.example:8443/cb?x=1"],
    ["a missing query", "https://desk.example/cb"],
    ["another query", "https://desk.example/cb?x=2"],
    ["a sub-domain", "https://a.desk.example/cb?x=1"],
    ["an upper-case path", "https://desk.example/CB?x=1"],
  ])("a redirect with %s is not followed, and the person is told", async (_, uri) => {
    const result = await outcome(desk().begin({ redirect_uri: uri }).url);
    expect(result).toMatchObject({ error: "400", left: false });
    expect(result.description).toContain("redirect_uri");
  });

  test.each([
    ["as registered", "http://127.0.0.1:4711/callback"],
    ["with another loopback port", "http://127.0.0.1:50123/callback"],
    ["without a port", "http://127.0.0.1/callback"],
    ["under https, exactly", "https://desk.example/cb?x=1"],
  ])("a redirect %s is followed", async (_, uri) => {
    const returned = await person().allow(desk().begin({ redirect_uri: uri }).url);
    expect(returned.href).toStartWith(uri);
    expect(returned.searchParams.get("code")).toMatch(/^tgc_/);
  });

  test("an unknown client gets a page, not a redirect", async () => {
    const result = await outcome(createClient(gateway.url, "nobody").begin().url);
    expect(result).toMatchObject({ error: "400", left: false });
  });
});

describe("the code", () => {
  const trade = (changed: Record<string, string | undefined>) => async () => {
    const client = desk();
    const { url, verifier } = client.begin();
    const returned = await person().allow(url);
    const usual = {
      grant_type: "authorization_code",
      code: returned.searchParams.get("code") ?? "",
      redirect_uri: redirectUri,
      code_verifier: verifier,
    };
    return client.trade({ ...usual, ...changed });
  };

  test.each([
    ["without a verifier", { code_verifier: undefined }, "invalid_grant"],
    ["with another verifier", { code_verifier: "x".repeat(43) }, "invalid_grant"],
    ["with another redirect", { redirect_uri: "http://127.0.0.1:4712/callback" }, "invalid_grant"],
    ["without its redirect", { redirect_uri: undefined }, "invalid_request"],
    ["with another code", { code: "tgc_000000000000000000000000000000000000" }, "invalid_grant"],
    ["for another resource", { resource: "https://other.example/mcp" }, "invalid_target"],
    ["by another client", { client_id: "nobody" }, "invalid_client"],
  ])("%s buys nothing", async (_, changed, error) => {
    const response = await trade(changed)();
    expect([400, 401]).toContain(response.status);
    expect(await response.json()).toMatchObject({ error });
  });

  test("used twice buys nothing, and ends what it bought the first time", async () => {
    const client = desk();
    const { url, verifier } = client.begin();
    const returned = await person().allow(url);
    const tokens = await client.redeem(returned, verifier);
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    expect((await fetch(`${gateway.url}/v1/credits/balance`, { headers })).status).toBe(200);
    expect(await client.redeem(returned, verifier).catch(String)).toContain("invalid_grant");
    expect((await fetch(`${gateway.url}/v1/credits/balance`, { headers })).status).toBe(401);
    expect((await client.refresh(tokens.refresh_token)).status).toBe(400);
  });

  test("traded by many at one moment buys once at most", async () => {
    const client = desk();
    const { url, verifier } = client.begin();
    const returned = await person().allow(url);
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => client.redeem(returned, verifier)),
    );
    expect(results.filter(({ status }) => status === "fulfilled").length).toBeLessThanOrEqual(1);
  });
});

describe("the pages", () => {
  test("show who asks, where the answer goes, what is asked for and within which bounds; in nobody's frame", async () => {
    const browser = person();
    const { url } = desk().begin({ redirect_uri: "https://desk.example/cb?x=1" });
    const first = await browser.open(url);
    const second = await browser.submit(first, { action: "sign_in", key: account.key });
    for (const page of [first, second]) {
      expect(page.response.status).toBe(200);
      const policy = page.response.headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain("form-action 'self';");
      expect(policy).not.toContain("unsafe");
      expect(page.response.headers.get("x-frame-options")).toBe("DENY");
      expect(page.response.headers.get("cache-control")).toBe("no-store");
      expect(page.html).not.toContain("<script");
      expect(page.html).not.toContain(account.key);
    }
    for (const words of ["Desk", "desk.example", "Spend the account", 'value="1"', 'value="10"', "30 days"]) {
      expect(second.html).toContain(words);
    }
    expect(second.html).not.toContain("your own machine");
    const local = await browser.open(desk().begin().url);
    expect(local.html).toContain("your own machine");
  });

  test("say truly what a client may do: read over HTTP only, and act for linked accounts when it may spend", async () => {
    const spaced = (html: string): string => html.replaceAll(/\s+/g, " ");
    const browser = person();
    const first = await browser.open(desk().begin().url);
    const spending = await browser.submit(first, { action: "sign_in", key: account.key });
    const linked = "acts for the platform accounts that are linked to your key";
    expect(spaced(spending.html)).toContain(linked);
    expect(spaced(spending.html)).toContain(
      "It can follow others in their name, link more of them, and end links.",
    );
    const reading = spaced((await browser.open(desk().begin({ scope: "tools:read" }).url)).html);
    expect(reading).toContain("through the HTTP API, the usage, balance and receipts");
    expect(reading).not.toContain(linked);
    await browser.allow(desk().begin().url);
    expect((await browser.open("/oauth/grants")).html).toContain(
      "act for the platform accounts linked to its key",
    );

    // What the page says of a client that may only read is how it is.
    const client = await registerClient(gateway.url);
    const { url, verifier } = client.begin({ scope: "tools:read" });
    const token = (await client.redeem(await browser.allow(url), verifier)).access_token;
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${gateway.url}/v1/credits/balance`, { headers })).status).toBe(200);
    const use = { operation_id: "credits.balance", arguments: {}, max_price_usd: 0 };
    const refused = await askModern(`${gateway.url}/mcp`, token, "tools/call", {
      name: "use",
      arguments: use,
    });
    expect(refused.status).toBe(403);
  });

  test("a denial goes back to the client, and nothing was granted", async () => {
    const browser = person();
    const first = await browser.open(desk().begin().url);
    const page = await browser.submit(first, { action: "sign_in", key: account.key });
    const before = (await gateway.store.grants.list(account.accountId)).length;
    const done = await browser.submit(page, { action: "deny" });
    expect(done.url.searchParams.get("error")).toBe("access_denied");
    expect(done.url.searchParams.get("state")).toBe("state-1");
    expect((await gateway.store.grants.list(account.accountId)).length).toBe(before);
  });

  test("however often a yes is pressed, one client is let in, within the bounds that were set first", async () => {
    const client = desk();
    for (const [first, second, scope] of [
      [{ spend: "yes", per_call_usd: "0.5" }, { spend: "yes", per_call_usd: "7" }, "tools:read tools:spend"],
      [{}, { spend: "yes" }, "tools:read"],
    ] as const) {
      const owner = await gateway.openAccount();
      const { url, verifier } = client.begin();
      const { press } = await openConsent(url, owner);
      await press({ action: "allow", ...first });
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => press({ action: "allow", ...second })),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      const grants = await gateway.store.grants.list(owner.accountId);
      expect(grants).toHaveLength(1);
      const spends = "spend" in first;
      expect(grants[0]?.policy.perCallMicros).toBe(spends ? 500_000n : 0n);
      const onward = await answers.at(-1)?.onward();
      const tokens = await client.redeem(onward ?? new URL(url), verifier);
      expect(
        tokens.scope
          .split(" ")
          .filter((word) => word.startsWith("tools:"))
          .join(" "),
      ).toBe(scope);
      expect((await gateway.store.grants.list(owner.accountId)).length).toBe(1);
    }
  });

  test("of many who press yes at one moment one lets the client in", async () => {
    const owner = await gateway.openAccount();
    const { press } = await openConsent(desk().begin().url, owner);
    await Promise.all(Array.from({ length: 10 }, () => press({ action: "allow", spend: "yes" })));
    expect(await gateway.store.grants.list(owner.accountId)).toHaveLength(1);
  });

  test("a no after the yes, a revocation or another key's yes leave nobody let in who was not", async () => {
    const living = async ({ accountId }: TestAccount): Promise<number> =>
      (await gateway.store.grants.list(accountId)).filter(({ revokedAtMs }) => revokedAtMs === undefined)
        .length;
    const owner = await gateway.openAccount();
    const { press } = await openConsent(desk().begin().url, owner);
    await press({ action: "allow", spend: "yes" });
    expect(await living(owner)).toBe(1);
    await press({ action: "deny" });
    expect(await living(owner)).toBe(0);
    const again = await press({ action: "allow", spend: "yes" });
    expect(again.status).toBe(400);
    expect(await again.text()).toContain("This sign-in is over");
    expect(await living(owner)).toBe(0);

    const other = await gateway.openAccount();
    const { press: pressed, browser, page } = await openConsent(desk().begin().url, owner);
    await pressed({ action: "allow", spend: "yes" });
    const asked = await browser.submit(page, { action: "sign_out" });
    const theirs = await browser.submit(asked, { action: "sign_in", key: other.key });
    const refused = await browser.submit(theirs, { action: "allow", ...usualBounds });
    expect(refused.response.status).toBe(400);
    expect([await living(owner), await living(other)]).toEqual([1, 0]);
  });

  test("every sign-in asks its person again, also for a client that was let in before", async () => {
    const browser = person();
    await browser.allow(desk().begin().url);
    const again = await browser.open(desk().begin().url);
    expect(again.left).toBe(false);
    expect(again.html).toContain("Let Desk in?");
  });

  test("a form from elsewhere does nothing: no token, another browser's token, another origin", async () => {
    const browser = person();
    const first = await browser.open(desk().begin().url);
    const page = await browser.submit(first, { action: "sign_in", key: account.key });
    const before = await gateway.store.grants.list(undefined);
    const allowing = { action: "allow", spend: "yes", per_call_usd: "1", per_day_usd: "10", days: "1" };
    expect((await browser.submit(page, { ...allowing, csrf: "" })).response.status).toBe(403);
    const other = person();
    const theirs = await other.submit(await other.open(desk().begin().url), {
      action: "sign_in",
      key: account.key,
    });
    const stolen = /name="csrf" value="([^"]*)"/.exec(theirs.html)?.[1] ?? "";
    expect((await browser.submit(page, { ...allowing, csrf: stolen })).response.status).toBe(403);
    const csrf = /name="csrf" value="([^"]*)"/.exec(page.html)?.[1] ?? "";
    for (const origin of ["https://evil.example", "null"]) {
      const posted = await browser.open(page.url.href, {
        method: "POST",
        headers: { origin, "content-type": "application/x-www-form-urlencoded" },
        body: new URLSearchParams({ csrf, ...allowing }).toString(),
      });
      expect(posted.response.status).toBe(403);
    }
    expect(await gateway.store.grants.list(undefined)).toEqual(before);
    // The form itself was good, so it was where it came from that did it.
    expect((await browser.submit(page, { ...allowing, csrf })).left).toBe(true);
    expect(await gateway.store.grants.list(undefined)).toHaveLength(before.length + 1);
  });

  test("take their forms also under a name the operator allowed, and a sign-in begins at its issuer", async () => {
    const named = await openTestGateway({ config: "mcp: { allowed_hosts: [pages.example] }" });
    const owner = await named.openAccount();
    const ask = (
      path: string,
      init: { method?: string; headers?: Record<string, string>; body?: string } = {},
    ) =>
      fetch(`${named.url}${path}`, {
        ...init,
        redirect: "manual",
        headers: { ...init.headers, host: "pages.example", accept: "text/html" },
      });
    for (const path of ["/account", "/oauth/grants"]) {
      const page = await ask(path);
      const [cookie = ""] = page.headers.getSetCookie()[0]?.split(";") ?? [];
      const csrf = /name="csrf" value="([^"]*)"/.exec(await page.text())?.[1] ?? "";
      const body = new URLSearchParams({ csrf, action: "sign_in", key: owner.key }).toString();
      const submitFrom = async (origin: string): Promise<number> => {
        const headers = { cookie, origin, "content-type": "application/x-www-form-urlencoded" };
        return (await ask(path, { method: "POST", headers, body })).status;
      };
      expect(await submitFrom("https://other.example")).toBe(403);
      expect(await submitFrom("https://pages.example")).toBe(303);
    }
    const begun = await ask("/authorize?client_id=desk&state=a%20b");
    expect([begun.status, begun.headers.get("location")]).toEqual([
      303,
      `${named.url}/authorize?client_id=desk&state=a%20b`,
    ]);
    expect(begun.headers.getSetCookie()).toEqual([]);
    await named.close();
  });

  test("a sign-in begun in one browser cannot be finished in another", async () => {
    const first = await person().open(desk().begin().url);
    const other = await person().open(first.url.href);
    expect(other.response.status).toBe(400);
    expect(other.html).toContain("another browser");
  });

  test.each([
    ["an amount that is none", { per_call_usd: "lots" }],
    ["a negative amount", { per_day_usd: "-1" }],
    ["an amount finer than a micro", { per_call_usd: "0.0000001" }],
    ["an amount beyond all measure", { per_day_usd: "99999999" }],
    ["no end", { days: "100000" }],
  ])("%s is asked for again, and nothing is granted", async (_, fields) => {
    const before = (await gateway.store.grants.list(account.accountId)).length;
    const failed = await person().allow(desk().begin().url, fields).catch(String);
    expect(failed).toContain("with 400");
    expect(failed).toContain('role="alert"');
    expect((await gateway.store.grants.list(account.accountId)).length).toBe(before);
  });

  test("a client that asked only to read gets no more, whatever the form says", async () => {
    const reader = await gateway.openAccount();
    const client = await registerClient(gateway.url);
    const { url, verifier } = client.begin({ scope: "tools:read" });
    const returned = await createPerson(gateway.url, reader.key).allow(url, { spend: "yes" });
    expect((await client.redeem(returned, verifier)).scope).toBe("tools:read");
    expect(await gateway.store.grants.list(reader.accountId)).toMatchObject([
      { scopes: ["tools:read"], policy: { perCallMicros: 0n, perDayMicros: 0n } },
    ]);
  });

  test("a client that asked only to spend may read when its person allows no spending", async () => {
    const owner = await gateway.openAccount();
    for (const [spend, scope] of [
      ["", "tools:read"],
      ["yes", "tools:read tools:spend"],
    ] as const) {
      const client = await registerClient(gateway.url);
      const { url, verifier } = client.begin({ scope: "tools:spend" });
      const returned = await createPerson(gateway.url, owner.key).allow(url, { spend });
      expect(returned.searchParams.get("error")).toBeNull();
      expect((await client.redeem(returned, verifier)).scope).toBe(scope);
    }
  });

  test("a name full of markup is shown as text", async () => {
    const name = `<img src=x onerror=alert(1)>"'\u202E&`;
    const client = await registerClient(gateway.url, { client_name: name });
    const page = await person().open(client.begin().url);
    expect(page.html).not.toContain("<img");
    expect(page.html).not.toContain("\u202E");
    expect(page.html).toContain("&lt;img src=x onerror=alert(1)&gt;&quot;&#x27;");
  });

  test("say what is wrong on a page, and programs hear it in theirs", async () => {
    const own = await openTestGateway({
      wrap: (parts) => {
        const list = async () => Promise.reject(new Error("The disk is gone."));
        return { ...parts, store: { ...parts.store, grants: { ...parts.store.grants, list } } };
      },
    });
    const expectPage = async (response: Response, status: number, words: string): Promise<void> => {
      expect(response.status).toBe(status);
      expect(response.headers.get("content-type")).toStartWith("text/html");
      expect(response.headers.get("cache-control")).toContain("no-store");
      expect(await response.text()).toContain(words);
    };
    const expectJson = async (response: Response, status: number, error: string): Promise<void> => {
      expect(response.status).toBe(status);
      expect(await response.json()).toMatchObject({ error, error_description: expect.any(String) as string });
    };
    const ask = (path: string, init: RequestInit = {}): Promise<Response> => fetch(own.url + path, init);
    try {
      const pages = ["/oauth/grants", "/oauth/approvals/apr_1", "/oauth/sign-in/x"];
      const large = { method: "POST", body: "x".repeat(100_000) };
      const elsewhere = { headers: { host: "evil.example" } };
      for (const path of pages) {
        const put = await ask(path, { method: "PUT" });
        expect(put.headers.get("allow")).toBe("GET, HEAD, POST");
        await expectPage(put, 405, "This method is not served here.");
        await expectPage(await ask(path, elsewhere), 403, `Sign-in is at ${own.url}`);
        const [head, got] = [await ask(path, { method: "HEAD" }), await ask(path)];
        expect([path, head.status, await head.text()]).toEqual([path, got.status, ""]);
      }
      await expectPage(await ask("/oauth/grants", large), 413, 'role="alert"');
      await expectJson(await ask("/token", large), 413, "invalid_request");
      await expectJson(await ask("/token", elsewhere), 403, "invalid_request");
      await expectJson(
        await ask("/.well-known/oauth-protected-resource", { method: "PUT" }),
        405,
        "invalid_request",
      );

      const { key } = await own.openAccount();
      const browser = createPerson(own.url, key);
      const page = await browser.submit(await browser.open("/oauth/grants"), { action: "sign_in", key });
      expect(page.response.status).toBe(500);
      expect(page.html).toContain("Something went wrong");
      expect(page.html).not.toContain("disk");

      let last = await ask("/oauth/jwks");
      while (last.status === 200) last = await ask("/oauth/jwks");
      await expectJson(last, 429, "temporarily_unavailable");
      await expectJson(await ask("/token", { method: "POST" }), 429, "temporarily_unavailable");
      for (const path of [...pages, "/authorize?client_id=desk", "/authorize/x"]) {
        const refused = await ask(path);
        expect(refused.headers.get("retry-after")).toBe("60");
        await expectPage(refused, 429, "wait a minute, then try again");
      }
    } finally {
      await own.close();
    }
  });

  test("wrong keys are counted: after ten in a minute nobody from there gets in, whatever they type", async () => {
    const own = await openTestGateway();
    try {
      const mine = await own.openAccount();
      const client = await registerClient(own.url);
      const browser = createPerson(own.url, mine.key);
      let page = await browser.open(client.begin().url);
      for (let wrong = 0; wrong < 10; wrong++) {
        page = await browser.submit(page, { action: "sign_in", key: `tgk_${"0".repeat(36)}` });
        expect(page.response.status).toBe(401);
        expect(page.html).not.toContain("tgk_0000");
      }
      page = await browser.submit(page, { action: "sign_in", key: mine.key });
      expect(page.response.status).toBe(429);
    } finally {
      await own.close();
    }
  });

  test("behind a proxy of ours they are counted by caller, and nobody else is shut out", async () => {
    const own = await openTestGateway({ config: 'trusted_proxies: ["127.0.0.1"]' });
    const mine = await own.openAccount();
    const { url } = (await registerClient(own.url)).begin();
    const key = `tgk_${"0".repeat(36)}`;
    // A guesser can write what it likes before what the proxy adds.
    const from = (forwardedFor: string): RequestInit => ({ headers: { "x-forwarded-for": forwardedFor } });
    const guess = async (forwardedFor: string, typed: string): Promise<number> => {
      const browser = createPerson(own.url, typed);
      const page = await browser.open(url, from(forwardedFor));
      const csrf = /name="csrf" value="([^"]*)"/.exec(page.html)?.[1] ?? "";
      const answered = await browser.open(page.url.href, {
        method: "POST",
        headers: {
          "content-type": "application/x-www-form-urlencoded",
          origin: own.url,
          "x-forwarded-for": forwardedFor,
        },
        body: new URLSearchParams({ csrf, action: "sign_in", key: typed }).toString(),
      });
      return answered.response.status;
    };
    for (let wrong = 0; wrong < 10; wrong++) {
      expect(await guess(`192.0.2.${wrong}, 203.0.113.5`, key)).toBe(401);
    }
    expect(await guess("203.0.113.5", mine.key)).toBe(429);
    expect(await guess("203.0.113.6", mine.key)).toBe(200);
    await own.close();
  });

  test("a key that sees only itself lists and ends only its own clients", async () => {
    const mine = await gateway.openAccount({ creditUsd: "50" });
    const { access_token: token } = await signInWith(gateway.url, mine.key);
    const headers = { authorization: `Bearer ${token}` };
    const works = async (): Promise<boolean> =>
      (await fetch(`${gateway.url}/v1/credits/balance`, { headers })).status === 200;
    const [grant] = await gateway.store.grants.list(mine.accountId);
    const id = grant?.id ?? "";
    const other = await gateway.issueKey(mine);
    const browser = createPerson(gateway.url, other.key);
    const first = await browser.open("/oauth/grants");
    const page = await browser.submit(first, { action: "sign_in", key: other.key });
    expect(page.html).not.toContain(id);
    await browser.submit(page, { action: "revoke", grant: id });
    expect(await works()).toBe(true);
    await gateway.store.keys.update(other.keyId, { scope: "account" });
    const whole = await browser.open("/oauth/grants");
    expect(whole.html).toContain(id);
    await browser.submit(whole, { action: "revoke", grant: id });
    expect(await works()).toBe(false);
  });

  test("a person ends what they granted, and only what is theirs", async () => {
    const { access_token: token } = await signInWith(gateway.url, account.key);
    const headers = { authorization: `Bearer ${token}` };
    const [grant] = await gateway.store.grants.list(account.accountId);
    const strangers = [await gateway.openAccount(), await gateway.openAccount({ scope: "account" })];
    for (const [key, status] of [
      ...strangers.map((stranger) => [stranger.key, 200] as const),
      [account.key, 401],
    ] as const) {
      const browser = createPerson(gateway.url, key);
      const page = await browser.submit(await browser.open("/oauth/grants"), { action: "sign_in", key });
      expect(page.html.includes(grant?.id ?? "?")).toBe(key === account.key);
      await browser.submit(page, { action: "revoke", grant: grant?.id ?? "" });
      expect((await fetch(`${gateway.url}/v1/credits/balance`, { headers })).status).toBe(status);
    }
  });
});
