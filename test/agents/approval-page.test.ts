// The page on which a person answers an agent's question. Who knows its address knows nothing yet.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { approvalPageUrl } from "../../gateway/src/approvals/approval-page.ts";
import { completeAddresses } from "../../gateway/src/config/addresses.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { createPerson, csrfOf, type Person } from "../sign-in/oauth-person.ts";

let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await openTestGateway();
  account = await gateway.openAccount();
});
afterAll(() => gateway.close());

async function ask(expiresInMs = 60_000, by = account): Promise<{ id: string; url: string }> {
  const id = crypto.randomUUID();
  await gateway.store.approvals.open({
    id,
    accountId: account.accountId,
    keyId: by.keyId,
    grantId: undefined,
    asker: "<b>An agent</b>",
    items: [
      {
        operationId: "financial.metrics.snapshot",
        digest: crypto.getRandomValues(new Uint8Array(32)),
        capMicros: 2_500_000n,
        expectedMicros: 48_000n,
        summary: '{"ticker":"<AAPL>"}',
        arguments: '{"ticker":"<AAPL>"}',
        argumentsCut: false,
      },
      {
        operationId: "research.deep_search",
        digest: new Uint8Array(32).fill(1),
        capMicros: 500_000n,
        expectedMicros: 20_000n,
        summary: '{"query":"some… (shortened)"}',
        arguments: '{"query":"something <long>… (shortened)"}',
        argumentsCut: true,
      },
    ],
    createdAtMs: Date.now(),
    expiresAtMs: Date.now() + expiresInMs,
  });
  return { id, url: approvalPageUrl(completeAddresses(gateway.url), id) };
}

const decisionOf = async (id: string) =>
  (await gateway.store.approvals.find(id, account.accountId))?.decision;

async function signedIn(
  url: string,
  key = account.key,
): Promise<{ browser: Person; page: Awaited<ReturnType<Person["open"]>> }> {
  const browser = createPerson(gateway.url, key);
  const page = await browser.submit(await browser.open(url), { action: "sign_in", key });
  return { browser, page };
}

test("a person sees who asks for what at which rate and at most how much, and says yes once", async () => {
  const { id, url } = await ask();
  const { browser, page } = await signedIn(url);
  for (const words of [
    "<h1>Approve spending up to 3 USD?</h1>",
    "2.5 USD",
    "0.048 USD",
    "0.02 USD",
    "These arguments are shortened",
    "something &lt;long&gt;",
    "what you approve is longer than what you see",
    "&lt;b&gt;An agent&lt;/b&gt;, with key “test” (…",
    "&quot;&lt;AAPL&gt;&quot;",
  ]) {
    expect(page.html).toContain(words);
  }
  expect(page.response.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  const done = await browser.submit(page, { action: "approve" });
  expect(done.html).toContain("Approved");
  // What came of it is told before what it was about.
  expect(done.html.indexOf("You can close this page")).toBeLessThan(done.html.indexOf("Asked by"));
  expect(done.html).not.toContain("something");
  expect(await decisionOf(id)).toBe("approved");
  const tooLate = await browser.submit(page, { action: "deny" });
  expect(tooLate.html).toContain("It was approved before you denied it, and that stands.");
  expect(await decisionOf(id)).toBe("approved");
});

test("a person can say no", async () => {
  const { id, url } = await ask();
  const { browser, page } = await signedIn(url);
  expect((await browser.submit(page, { action: "deny" })).html).toContain("Nothing will be spent");
  expect(await decisionOf(id)).toBe("denied");
});

test("nothing is shown and nothing decided before somebody of the account has signed in", async () => {
  const { id, url } = await ask();
  const stranger = createPerson(gateway.url, "");
  const page = await stranger.open(url);
  expect(page.html).not.toContain("financial");
  await stranger.submit(page, { action: "approve" });
  expect(await decisionOf(id)).toBeUndefined();
});

test("a person of another account is told the same as about a question nobody asked", async () => {
  const { id, url } = await ask();
  const other = await gateway.openAccount();
  const { browser, page } = await signedIn(url, other.key);
  const { page: none } = await signedIn(url.replace(id, crypto.randomUUID()), other.key);
  expect(page.response.status).toBe(404);
  expect(page.html).toBe(none.html);
  const mine = await signedIn((await ask()).url);
  const csrf = csrfOf(mine.page.html);
  await browser.submit(page, { action: "approve", csrf });
  expect(await decisionOf(id)).toBeUndefined();
});

test("another key of the account decides only when it sees the whole account", async () => {
  const { id, url } = await ask();
  const other = await gateway.issueKey(account);
  const { browser, page } = await signedIn(url, other.key);
  const { page: none } = await signedIn(url.replace(id, crypto.randomUUID()), other.key);
  expect(page.response.status).toBe(404);
  expect(page.html).toBe(none.html);
  const own = await ask(60_000, other);
  const csrfPage = await browser.open(own.url);
  expect(csrfPage.html).toContain('value="approve"');
  await browser.submit(page, { action: "approve" });
  expect(await decisionOf(id)).toBeUndefined();
  await browser.submit(csrfPage, { action: "approve" });
  expect(await decisionOf(own.id)).toBe("approved");

  await gateway.store.keys.update(other.keyId, { scope: "account" });
  await browser.submit(await browser.open(url), { action: "approve" });
  expect(await decisionOf(id)).toBe("approved");
});

test("a form without its token, or from another site, decides nothing", async () => {
  const { id, url } = await ask();
  const { browser, page } = await signedIn(url);
  expect((await browser.submit(page, { action: "approve", csrf: "x".repeat(64) })).response.status).toBe(403);
  expect((await browser.submit(page, { action: "something" })).response.status).toBe(400);
  const csrf = csrfOf(page.html);
  for (const origin of ["https://evil.example", "null"]) {
    const posted = await browser.open(page.url.href, {
      method: "POST",
      headers: { origin, "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ csrf, action: "approve" }).toString(),
    });
    expect(posted.response.status).toBe(403);
  }
  expect(await decisionOf(id)).toBeUndefined();
  // The form itself was good, so it was where it came from that did it.
  await browser.submit(page, { action: "approve", csrf });
  expect(await decisionOf(id)).toBe("approved");
});

test("a question past its time can no longer be answered", async () => {
  const { id, url } = await ask(1);
  await Bun.sleep(5);
  const { browser, page } = await signedIn(url);
  expect(page.html).toContain("expired");
  expect(page.html).not.toContain('value="approve"');
  const csrfPage = await signedIn((await ask()).url);
  expect(csrfPage.page.html).toContain('value="approve"');
  await browser.submit(page, { action: "approve" });
  expect(await decisionOf(id)).toBeUndefined();
});

test("a key that was revoked after sign-in no longer answers", async () => {
  const mine = await gateway.openAccount();
  const { url } = await ask();
  const { browser } = await signedIn(url, mine.key);
  await gateway.store.keys.revoke(mine.keyId, Date.now());
  expect((await browser.open(url)).html).toContain('name="key"');
});
