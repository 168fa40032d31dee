// The pages of an account as a person sees them: in Chromium, on a phone and a desk, in light and dark.

import { afterAll, beforeAll, expect } from "bun:test";
import {
  looks,
  openBrowser,
  show,
  testInBrowser,
  violationsIn,
  widthOf,
  type TestBrowser,
} from "./browser.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "./harness.ts";

let gateway: TestGateway;
let account: TestAccount;
let receipt: string;

beforeAll(async () => {
  gateway = await openTestGateway();
  account = await gateway.openAccount({
    scope: "account",
    budget: { window: "month", limitMicros: 1_500_000n },
  });
  const snapshot = "/apis/v1/financial/financial-metrics/snapshot?ticker=AAPL";
  receipt = (await gateway.call(account, snapshot)).headers.get("x-request-id") ?? "";
  await gateway.post(account, "/v1/rerank", { query: "tea", documents: ["green tea", "a car"] });
  await gateway.call(await gateway.issueKey(account), snapshot);
});
afterAll(() => gateway.close());

const pages = () => ["/account", "/account/calls", `/account/calls/${receipt}`, "/account/keys"];

testInBrowser("an account's pages fit a phone and a desk, and axe finds nothing wrong with them", () =>
  inBrowser(async ({ page, complaints, requested }) => {
    await signIn(page, account);
    for (const path of pages()) {
      await page.goto(gateway.url + path);
      await page.evaluate("document.querySelector('details')?.setAttribute('open', '')");
      for (const look of looks) {
        await show(page, look);
        expect([path, look, await widthOf(page)]).toEqual([path, look, look.width]);
      }
      for (const look of looks.slice(0, 2)) {
        await show(page, look);
        expect([path, look, await violationsIn(page)]).toEqual([path, look, []]);
      }
    }
    expect(complaints).toEqual([]);
    expect(requested.filter((url) => !url.startsWith(`${gateway.url}/`))).toEqual([]);
    expect(requested.join(" ")).not.toContain(account.key);
  }),
);

testInBrowser("an account without calls reads well, and axe finds nothing wrong with it", () =>
  inBrowser(async ({ page }) => {
    await signIn(page, await gateway.openAccount());
    expect(await page.getByText("No call has ended in these days.").isVisible()).toBe(true);
    expect(await page.getByRole("link", { name: "Keys" }).count()).toBe(0);
    expect(await violationsIn(page)).toEqual([]);
    await page.getByRole("link", { name: "Calls" }).click();
    expect(await page.getByText("There are no calls yet.").isVisible()).toBe(true);
    expect(await violationsIn(page)).toEqual([]);
  }),
);

testInBrowser(
  "without JavaScript a person finds why a call cost what it did, from the site on, and signs out",
  () =>
    inBrowser(async (browser) => {
      const context = await browser.page.context().browser()?.newContext({ javaScriptEnabled: false });
      const page = await context?.newPage();
      if (!page) throw new Error("The browser gave no page.");
      await page.goto(gateway.url);
      await page.getByRole("link", { name: "Account" }).click();
      await page.getByLabel("API key of your account").fill(account.key);
      await page.getByRole("button", { name: "Sign in" }).click();
      expect(await page.getByRole("img", { name: "Charged by day" }).isVisible()).toBe(true);
      await page.getByText("The same as a table").click();
      await page.getByRole("link", { name: new Date().toISOString().slice(0, 10) }).click();
      await page.getByRole("row", { name: "rerank.create" }).getByRole("link").click();
      expect(await page.getByText(/^Held \d+ micro-USD as the most it could cost/).isVisible()).toBe(true);
      await page.getByRole("link", { name: "Your clients" }).click();
      await page.getByRole("link", { name: "your account" }).click();
      await page.getByRole("button", { name: "Sign out" }).click();
      expect(await page.getByLabel("API key of your account").isVisible()).toBe(true);
    }),
);

async function inBrowser(visit: (browser: TestBrowser) => Promise<void>): Promise<void> {
  const browser = await openBrowser();
  try {
    await visit(browser);
  } finally {
    await browser.close();
  }
}

async function signIn(page: TestBrowser["page"], { key }: TestAccount): Promise<void> {
  await page.goto(`${gateway.url}/account`);
  await page.getByLabel("API key of your account").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
}
