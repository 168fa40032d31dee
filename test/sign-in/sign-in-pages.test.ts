// The pages of signing in, met with a browser that keeps cookies: what they show, whose forms they take, and who is kept out.

import { afterAll, describe, expect, test } from "bun:test";
import { dayAndMinute } from "../../gateway/src/platform/clock.ts";
import { askModern } from "../agents/agent-client.ts";
import { openTestGateway } from "../support/test-gateway.ts";
import { openDesk } from "./desk.ts";
import { createPerson, csrfOf, registerClient, signInWith } from "./oauth-person.ts";

const { gateway, account, desk, person } = await openDesk();
afterAll(() => gateway.close());

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
    const stolen = csrfOf(theirs.html);
    expect((await browser.submit(page, { ...allowing, csrf: stolen })).response.status).toBe(403);
    const csrf = csrfOf(page.html);
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
      const csrf = csrfOf(await page.text());
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
      const csrf = csrfOf(page.html);
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

  test("a client whose key was revoked, or has expired, is not among the clients any more", async () => {
    const owner = await gateway.openAccount({ scope: "account" });
    const [revoked, expired] = [await gateway.issueKey(owner), await gateway.issueKey(owner)];
    for (const { key } of [owner, revoked, expired]) await signInWith(gateway.url, key);
    const browser = createPerson(gateway.url, owner.key);
    const signedIn = { action: "sign_in", key: owner.key };
    await browser.submit(await browser.open("/oauth/grants"), signedIn);
    const listed = async (): Promise<string[]> => {
      const { html } = await browser.open("/oauth/grants");
      const grants = await gateway.store.grants.list(owner.accountId);
      return grants.flatMap(({ id, keyId }) => (html.includes(id) ? [keyId] : []));
    };
    expect(await listed()).toEqual([expired.keyId, revoked.keyId, owner.keyId]);
    await gateway.store.keys.revoke(revoked.keyId, Date.now());
    await gateway.store.keys.update(expired.keyId, { expiresAtMs: Date.now() - 1 });
    expect(await listed()).toEqual([owner.keyId]);
  });

  test("a client is listed with the key that it was let in with, and with the end that comes first", async () => {
    const owner = await gateway.openAccount({ scope: "account", name: "owner" });
    const endsAtMs = Date.now() + 3 * 86_400_000;
    const ending = await gateway.issueKey(owner, { name: "laptop", expiresAtMs: endsAtMs });
    await signInWith(gateway.url, ending.key);
    const browser = createPerson(gateway.url, owner.key);
    const { html } = await browser.submit(await browser.open("/oauth/grants"), {
      action: "sign_in",
      key: owner.key,
    });
    expect(html).toContain(`key “laptop” (…${ending.key.slice(-4)})`);
    expect(html).toMatch(new RegExp(`Until</dt>\\s*<dd>${dayAndMinute(endsAtMs)}</dd>`));
  });

  test("a client that may spend is listed with what it spent today and what its running work holds", async () => {
    const mine = await gateway.openAccount({ creditUsd: "50" });
    const { access_token: token } = await signInWith(gateway.url, mine.key, { per_day_usd: "2500" });
    const browser = createPerson(gateway.url, mine.key);
    await browser.submit(await browser.open("/oauth/grants"), { action: "sign_in", key: mine.key });
    const spentToday = async (): Promise<string | undefined> => {
      const { html } = await browser.open("/oauth/grants");
      return /Spent today \(UTC\)<\/dt>\s*<dd>([^<]*)<\/dd>/.exec(html)?.[1]?.replaceAll(/\s+/g, " ").trim();
    };
    expect(await spentToday()).toBe("0 of 2,500 USD");
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const paid = await fetch(`${gateway.url}/apis/v1/financial/financial-metrics/snapshot?ticker=AAPL`, {
      headers,
    });
    expect(paid.status).toBe(200);
    expect(await spentToday()).toBe("0.048 of 2,500 USD");
    const begun = await fetch(`${gateway.url}/apis/v1/services/aigc/video-generation/video-synthesis`, {
      method: "POST",
      headers: { ...headers, "x-tollgate-async": "enable" },
      body: JSON.stringify({
        model: "wan2.6-t2v",
        input: { prompt: "a fox" },
        parameters: { duration: 5, resolution: "720P" },
      }),
    });
    expect(begun.status).toBe(200);
    expect(await spentToday()).toBe("0.048 of 2,500 USD, and 0.5 USD held by what still runs");

    const reader = await gateway.openAccount();
    await signInWith(gateway.url, reader.key, { spend: "" });
    const other = createPerson(gateway.url, reader.key);
    const page = await other.submit(await other.open("/oauth/grants"), {
      action: "sign_in",
      key: reader.key,
    });
    expect(page.html).toContain("look around");
    expect(page.html).not.toContain("Spent today");
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
