// Who sees the pages of an account: whoever typed its key, for as long as that works, in that browser alone.

import { expect, test } from "bun:test";
import { completeAddresses } from "../../gateway/src/config/addresses.ts";
import { tile, useAccountVisits, wordsOf, type Opened, type Receipts } from "./account-visits.ts";
import { openTestGateway } from "../support/test-gateway.ts";
import { createPerson, csrfOf, type Person } from "../sign-in/oauth-person.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

const { gateway, whole, single, signedIn, ask } = await useAccountVisits();

test("nobody sees anything before signing in, and a wrong key is neither shown nor passed on", async () => {
  const { data } = await ask<Receipts>(whole, "/v1/requests");
  for (const path of [
    "/account",
    "/account/calls",
    `/account/calls/${data[0]?.request_id}`,
    "/account/keys",
  ]) {
    const page = await createPerson(gateway.url, "").open(path);
    expect(page.html).toContain('name="key"');
    expect(wordsOf(page.html)).not.toMatch(/USD|test/);
  }
  const stranger = createPerson(gateway.url, "");
  const wrong = `tgk_${"0".repeat(36)}`;
  const page = await stranger.submit(await stranger.open("/account"), { action: "sign_in", key: wrong });
  expect(page.response.status).toBe(401);
  expect(page.html).not.toContain("tgk_0");
  expect(page.url.search).toBe("");
});

test("one sign-in serves the account and the clients, and so does one sign-out", async () => {
  const { browser } = await signedIn(single);
  const clients = await browser.open("/oauth/grants");
  expect(clients.html).toContain('href="/account"');
  expect(clients.html).not.toContain('name="key"');
  await browser.submit(clients, { action: "sign_out" });
  const account = await browser.open("/account");
  expect(account.html).toContain('name="key"');
  await browser.submit(account, { action: "sign_in", key: single.key });
  const again = await browser.open("/account/calls");
  expect(again.html).toContain('href="/oauth/grants"');
  await browser.submit(again, { action: "sign_out" });
  expect((await browser.open("/oauth/grants")).html).toContain('name="key"');
});

test("a cookie that somebody kept is worth nothing once its person signed out, on any page", async () => {
  const { browser, page } = await signedIn(single);
  const kept = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  const readsWith = async (path: string): Promise<boolean> => {
    const answer = await fetch(gateway.url + path, { headers: { cookie: kept, accept: "text/html" } });
    return !(await answer.text()).includes('name="key"');
  };
  expect(await readsWith("/account")).toBe(true);
  await browser.submit(page, { action: "sign_out" });
  expect(await readsWith("/account")).toBe(false);
  expect(await readsWith("/oauth/grants")).toBe(false);
  // Who signs in again is somebody new, also in the same browser.
  const again = await browser.submit(await browser.open("/account"), { action: "sign_in", key: single.key });
  expect(again.html).not.toContain('name="key"');
  expect(await readsWith("/account")).toBe(false);
});

test("whoever signs in or out on the way to some calls or a file arrives there with everything they asked for", async () => {
  const today = new Date().toISOString().slice(0, 10);
  const file = await signedIn(single, `/account/calls.csv?from=${today}&to=${today}`);
  expect(file.page.response.status).toBe(200);
  expect(file.page.response.headers.get("content-type")).toStartWith("text/csv");

  const { browser, page } = await signedIn(single, `/account/calls/?until=${today}&x=%2F%2Fevil.example`);
  const asked = `/account/calls?until=${today}&x=%2F%2Fevil.example`;
  expect(page.url.href).toBe(`${gateway.url}${asked}`);
  const foreign = await browser.submit(page, { action: "sign_out", csrf: "" });
  expect(foreign.html).toContain(`href="${asked.replaceAll("&", "&amp;")}"`);
  const left = await browser.submit(page, { action: "sign_out" });
  expect(left.url.href).toBe(`${gateway.url}${asked}`);
  expect(left.html).toContain('name="key"');
});

test("wrong keys are counted together with those typed elsewhere", async () => {
  const own = await openTestGateway();
  try {
    const mine = await own.openAccount();
    const browser = createPerson(own.url, mine.key);
    for (const path of ["/account", "/oauth/grants"]) {
      for (let wrong = 0; wrong < 5; wrong++) {
        const page = await browser.submit(await browser.open(path), {
          action: "sign_in",
          key: `tgk_${"0".repeat(36)}`,
        });
        expect(page.response.status).toBe(401);
      }
    }
    const page = await browser.submit(await browser.open("/account"), { action: "sign_in", key: mine.key });
    expect(page.response.status).toBe(429);
  } finally {
    await own.close();
  }
});

test("a person is signed in for an hour, and no longer than the secret works that they typed", async () => {
  const clock = createVirtualClock();
  const own = await openTestGateway({ clock });
  try {
    const owner = await own.openAccount();
    const isSignedIn = async (browser: Person): Promise<boolean> =>
      !(await browser.open("/account")).html.includes('name="key"');
    const { browser: patient } = await signedIn(owner, "/account", own);
    clock.advance(3_600_000 - 1_000);
    expect(await isSignedIn(patient)).toBe(true);
    clock.advance(1_000);
    expect(await isSignedIn(patient)).toBe(false);

    const { browser } = await signedIn(owner, "/account", own);
    const nowMs = clock.wallMs();
    const secretHash = new TextEncoder().encode("another secret");
    const rotation = { keyId: owner.keyId, secretHash, last4: "wxyz", nowMs };
    await own.store.keys.rotate({ ...rotation, graceEndsAtMs: nowMs + 60_000 });
    expect(await isSignedIn(browser)).toBe(true);
    clock.advance(60_000);
    expect(await isSignedIn(browser)).toBe(false);
  } finally {
    await own.close();
  }
});

test("a key that was revoked or has expired is signed out at the next page", async () => {
  const revoked = await gateway.openAccount();
  const { browser } = await signedIn(revoked);
  expect((await browser.open("/account/calls")).html).not.toContain('name="key"');
  await gateway.store.keys.revoke(revoked.keyId, Date.now());
  expect((await browser.open("/account/calls")).html).toContain('name="key"');

  const ending = await gateway.openAccount();
  const other = await signedIn(ending);
  await gateway.store.keys.update(ending.keyId, { expiresAtMs: Date.now() - 1 });
  expect((await other.browser.open("/account")).html).toContain('name="key"');
});

test("a suspended account can still be read, and is told", async () => {
  const account = await gateway.openAccount();
  await gateway.store.accounts.update(account.accountId, { suspended: true });
  const { page } = await signedIn(account);
  expect(page.html).toContain("This account is suspended");
  expect(tile(page.html, "Balance")[0]).toBe("2 USD");
});

test("a form from elsewhere does nothing, and no form does anything but sign in and out", async () => {
  const { browser, page } = await signedIn(single);
  const status = async (fields: Record<string, string>, from: Opened = page): Promise<number> =>
    (await browser.submit(from, fields)).response.status;
  expect(await status({ action: "sign_out", csrf: "" })).toBe(403);
  const theirs = await signedIn(whole);
  const stolen = csrfOf(theirs.page.html);
  expect(await status({ action: "sign_out", csrf: stolen })).toBe(403);
  const csrf = csrfOf(page.html);
  // A form is good for the page it was shown on.
  expect(await status({ action: "sign_out", csrf }, await browser.open("/account/calls"))).toBe(403);
  for (const origin of ["https://evil.example", "null"]) {
    const posted = await browser.open("/account", {
      method: "POST",
      headers: { origin, "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ csrf, action: "sign_out" }).toString(),
    });
    expect(posted.response.status).toBe(403);
  }
  for (const action of ["", "revoke", "approve"]) expect(await status({ action })).toBe(400);
  expect((await browser.open("/account")).html).not.toContain('name="key"');
  for (const method of ["PUT", "DELETE", "PATCH", "OPTIONS"]) {
    const { status: answered } = await fetch(`${gateway.url}/account`, { method });
    expect([method, answered]).toEqual([method, 405]);
  }
});

test("an identity planted before the sign-in is worth nothing after it", async () => {
  const browser = createPerson(gateway.url, single.key);
  const asked = await browser.open("/account");
  const planted = browser.cookies.get("tollgate_browser") ?? "";
  await browser.submit(asked, { action: "sign_in", key: single.key });
  expect(browser.cookies.get("tollgate_browser")).not.toBe(planted);
  const cookie = `tollgate_browser=${planted}`;
  const page = await fetch(`${gateway.url}/account`, { headers: { cookie } });
  expect(await page.text()).toContain('name="key"');
});

test("pages are kept by nobody, framed by nobody, load nothing, and their cookie is for the browser alone", async () => {
  const browser = createPerson(gateway.url, single.key);
  const asked = await browser.open("/account");
  const [cookie = ""] = asked.response.headers.getSetCookie();
  expect(cookie).toMatch(/^tollgate_browser=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=3600$/);
  const pages = [asked, await browser.submit(asked, { action: "sign_in", key: single.key })];
  for (const path of ["/account/calls", "/account/calls/none", "/account/nowhere"])
    pages.push(await browser.open(path));
  for (const { html, response } of pages) {
    const { headers } = response;
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    const policy = headers.get("content-security-policy") ?? "";
    for (const rule of [
      "default-src 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ])
      expect(policy).toContain(rule);
    expect(policy).not.toContain("unsafe");
    expect(html).not.toMatch(/<script|<link rel="stylesheet"| style="| src="| on\w+="/);
    expect(html).not.toContain(single.key);
  }
  expect(gateway.logged.join("\n")).not.toContain(single.key);
});

test("behind https the cookie is the host's own and travels encrypted only; other hosts are sent to the right one", async () => {
  const addresses = completeAddresses("https://gateway.example", { siteUrl: "https://www.example" });
  const own = await openTestGateway({ parts: { addresses } });
  try {
    const ask = (path: string, host: string): Promise<Response> =>
      fetch(own.url + path, { headers: { host } });
    const asked = await ask("/account", "gateway.example");
    expect(asked.headers.getSetCookie()[0]).toMatch(
      /^__Host-tollgate_browser=[\w-]+; Path=\/; Secure; HttpOnly; SameSite=Lax/,
    );
    for (const host of ["evil.example", "localhost"]) {
      const elsewhere = await ask("/account", host);
      expect([host, elsewhere.status]).toEqual([host, 403]);
      expect(elsewhere.headers.getSetCookie()).toEqual([]);
      expect(await elsewhere.text()).toContain('href="https://gateway.example/account"');
    }
    expect(await (await ask("/", "www.example")).text()).toContain('href="https://gateway.example/account"');
  } finally {
    await own.close();
  }
});

test("a program that lets a key's pages be made all day is told to wait, and nobody else is", async () => {
  const { browser } = await signedIn(await gateway.openAccount());
  let pages = 1;
  while ((await browser.open("/account")).response.status === 200) pages++;
  expect(pages).toBe(60);
  expect((await signedIn(single)).page.response.status).toBe(200);
});
