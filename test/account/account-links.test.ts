// The page on which a key's owner sees the platform accounts that calls may act for, and ends a link.

import { afterAll, expect, test } from "bun:test";
import { createPerson } from "../sign-in/oauth-person.ts";
import { followPath, liveLinks, openLinking } from "../links/linking.ts";
import type { TestAccount } from "../support/test-gateway.ts";
import { wordsOf } from "./account-visits.ts";

const { gateway, link, follow, close, platform } = await openLinking();
afterAll(close);

const path = "/account/links";

async function signedIn(account: TestAccount) {
  const browser = createPerson(gateway.url, account.key);
  const page = await browser.submit(await browser.open(path), { action: "sign_in", key: account.key });
  return { browser, page };
}

const idOf = (html: string): string => /name="link" value="([^"]*)"/.exec(html)?.[1] ?? "";

test("an owner sees which accounts are linked to which key, and ends a link here and at the platform", async () => {
  const owner = await gateway.openAccount({ scope: "account" });
  const linked = await gateway.issueKey(owner, { name: "posting" });
  await link(linked);
  expect((await follow(linked)).status).toBe(200);

  const { browser, page } = await signedIn(owner);
  const words = wordsOf(page.html);
  const { username } = (await gateway.store.links.list({ accountId: owner.accountId }))[0]?.user ?? {};
  expect(words).toContain(`@${username} Linked to posting (…${linked.key.slice(-4)}) May follows.write`);
  expect(words).toContain("Works yes");

  const revoked = platform.requests.length;
  const done = await browser.submit(page, { action: "end", link: idOf(page.html) });
  expect(wordsOf(done.html)).toContain(
    `The link to @${username} has ended. The platform has been told, too.`,
  );
  expect(wordsOf(done.html)).toContain("There are none.");
  expect(platform.requests.length).toBeGreaterThan(revoked);
  const refused = await follow(linked);
  expect(refused.status).toBe(403);
  expect(await refused.text()).toContain("link_required");
});

test("a key that sees itself neither sees nor ends the links of another key, and no foreign form ends any", async () => {
  const owner = await gateway.openAccount({ scope: "account" });
  const linked = await gateway.issueKey(owner);
  const other = await gateway.issueKey(owner);
  await link(linked);
  const live = await liveLinks(gateway);
  const linkId = idOf((await signedIn(linked)).page.html);
  expect(linkId).not.toBe("");

  const { browser, page } = await signedIn(other);
  expect(wordsOf(page.html)).toContain("There are none.");
  const tried = await browser.submit(page, { action: "end", link: linkId });
  expect(wordsOf(tried.html)).not.toContain("has ended");
  const own = await signedIn(linked);
  const foreign = await own.browser.submit(own.page, { action: "end", link: linkId, csrf: "made up" });
  expect(foreign.response.status).toBe(403);
  expect((await own.browser.submit(own.page, { action: "unknown", link: linkId })).response.status).toBe(400);
  expect(await liveLinks(gateway)).toBe(live);
  expect((await gateway.post(linked, followPath, { target_user_id: "6253282" })).status).toBe(200);
});
