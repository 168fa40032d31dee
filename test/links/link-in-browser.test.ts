// The whole way in a real browser: from auth_url, over the platform's pages, to a follow that is paid for, and undone.

import { afterAll, beforeAll, describe, expect } from "bun:test";
import { openBrowser, testInBrowser, violationsIn, type TestBrowser } from "../support/browser.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { followMicros, followPath, linksPath } from "./linking.ts";
import { startLink } from "../support/visitor.ts";

const ben = { target_user_id: "1801000000000000102" };

let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await openTestGateway();
  account = await gateway.openAccount();
});
afterAll(() => gateway.close());

const agree = async ({ page }: TestBrowser): Promise<void> => {
  await page.getByRole("button", { name: "Ada (@ada)" }).click();
  await page.getByRole("button", { name: "Allow" }).click();
  await page.getByRole("heading", { name: "Account linked" }).waitFor();
};

const isWiderThanScreen = ({ page }: TestBrowser): Promise<boolean> =>
  page.evaluate<boolean>("document.documentElement.scrollWidth > document.documentElement.clientWidth");

for (const { device, ...screen } of [
  { device: "phone in the dark", width: 360, height: 740, dark: true },
  { device: "desktop", width: 1280, height: 800, dark: false },
]) {
  testInBrowser(
    `on a ${device} a person links, the key follows and pays, and the person undoes it`,
    async () => {
      await gateway.sandbox.clear();
      const browser = await openBrowser(screen);
      const { page, complaints, requested } = browser;
      const { auth_url: authUrl } = await startLink(gateway, account);
      expect(authUrl).toStartWith(`${gateway.url}/sandbox/x/oauth2/authorize?`);
      await page.goto(authUrl);
      await agree(browser);
      const said = (await page.getByRole("main").textContent())?.replaceAll(/\s+/g, " ");
      expect(said).toContain("The account @ada is now linked to the key test of test.");
      expect(await isWiderThanScreen(browser)).toBe(false);
      const ink = await page.evaluate<string>("getComputedStyle(document.body).color");
      expect(ink).toBe(screen.dark ? "rgb(232, 233, 228)" : "rgb(29, 31, 28)");

      const before = await gateway.balance(account);
      const followed = await gateway.post(account, followPath, ben);
      expect([followed.status, await followed.json()]).toEqual([
        200,
        { data: { following: true, pending_follow: false } },
      ]);
      const after = await gateway.balance(account);
      expect([before.balance - after.balance, after.held]).toEqual([followMicros, 0]);
      const book = await gateway.sandbox.book();
      expect(book.filter(({ billed }) => billed?.["follows"] === 1)).toHaveLength(1);

      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Link undone" }).waitFor();
      expect((await gateway.post(account, followPath, ben)).status).toBe(403);
      expect(await (await gateway.call(account, linksPath)).json()).toEqual({ object: "list", data: [] });
      // Everything came from our own address, and no page had anything to complain about.
      expect(new Set(requested.map((url) => new URL(url).origin))).toEqual(new Set([gateway.url]));
      expect(complaints).toEqual([]);
      await browser.close();
    },
  );
}

testInBrowser("axe finds nothing wrong with any page of the way", async () => {
  const { page, close } = await openBrowser();
  await page.goto((await startLink(gateway, account)).auth_url);
  expect(await violationsIn(page)).toEqual([]);
  await page.getByRole("button", { name: "Ada (@ada)" }).click();
  await page.getByRole("button", { name: "Deny" }).waitFor();
  expect(await violationsIn(page)).toEqual([]);
  await page.getByRole("button", { name: "Deny" }).click();
  await page.getByRole("heading", { name: "You said no" }).waitFor();
  expect(await violationsIn(page)).toEqual([]);
  await close();
});

testInBrowser("a person who says no is told so, and nothing is linked", async () => {
  const { page, close } = await openBrowser();
  await page.goto((await startLink(gateway, account)).auth_url);
  await page.getByRole("button", { name: "Ben (@ben)" }).click();
  await page.getByRole("button", { name: "Deny" }).click();
  await page.getByRole("heading", { name: "You said no" }).waitFor();
  expect((await gateway.post(account, followPath, ben)).status).toBe(403);
  await close();
});

describe("with our own page first", () => {
  let hardened: TestGateway;
  beforeAll(async () => {
    hardened = await openTestGateway({ config: "links: { confirm: true }" });
  });
  afterAll(() => hardened.close());

  testInBrowser("a person reads who asks, goes on, agrees and is linked", async () => {
    const caller = await hardened.openAccount();
    const browser = await openBrowser();
    const { page, complaints } = browser;
    await page.goto((await startLink(hardened, caller)).auth_url);
    await page.getByRole("heading", { name: "Link your account?" }).waitFor();
    expect(await page.getByRole("main").textContent()).toContain("follows.write");
    await page.getByRole("button", { name: "Go on to the platform" }).click();
    await agree(browser);
    expect((await hardened.post(caller, followPath, ben)).status).toBe(200);
    expect(complaints).toEqual([]);
    await browser.close();
  });

  testInBrowser(
    "a victim who gets the platform's page from an attacker's browser is not linked",
    async () => {
      const caller = await hardened.openAccount();
      const [attacker, victim] = [await openBrowser(), await openBrowser()];
      await attacker.page.goto((await startLink(hardened, caller)).auth_url);
      await attacker.page.getByRole("button", { name: "Go on to the platform" }).click();
      await attacker.page.getByRole("heading", { name: "Sign in" }).waitFor();
      const platformPage = attacker.requested.find((url) => url.includes("/oauth2/authorize?")) ?? "";
      await victim.page.goto(platformPage);
      await victim.page.getByRole("button", { name: "Ada (@ada)" }).click();
      await victim.page.getByRole("button", { name: "Allow" }).click();
      await victim.page.getByRole("heading", { name: "This link was opened elsewhere" }).waitFor();
      expect((await hardened.post(caller, followPath, ben)).status).toBe(403);
      await Promise.all([attacker.close(), victim.close()]);
    },
  );
});
