// The API reference as a person sees it. A browser takes seconds to load it, so most tests look at one that is open.

import { afterAll, beforeAll, expect } from "bun:test";
import {
  expectQuiet,
  looks,
  openBrowser,
  show,
  testInBrowser,
  widthOf,
  type TestBrowser,
} from "../support/browser.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";

let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await openTestGateway();
  account = await gateway.openAccount();
});

let opened: Promise<TestBrowser> | undefined;
afterAll(async () => {
  await (await opened)?.close();
  await gateway.close();
});

/** The open reference on a desk, at one of its operations. */
async function lookAt(place = ""): Promise<TestBrowser> {
  const browser = await (opened ??= openBrowser());
  await show(browser.page, { width: 1280, dark: false });
  await browser.page.goto(`${gateway.url}/docs${place}`);
  return browser;
}

testInBrowser(
  "the reference fits a phone and a desk, in light and dark, and complains about nothing",
  async () => {
    const browser = await lookAt();
    await browser.page.getByRole("heading", { name: "Tollgate" }).waitFor();
    for (const look of looks) {
      await show(browser.page, look);
      expect([look, await widthOf(browser.page)]).toEqual([look, look.width]);
    }
    expectQuiet(browser, gateway.url);
  },
);

testInBrowser("it says what every operation costs, in the words of its own page", async () => {
  const { page } = await lookAt("#tag/models/POST/apis/v1/services/aigc/video-generation/video-synthesis");
  await page.getByText(/Price: wan\S+ [\d.]+ USD \(720p\)/).waitFor();
  expect(await page.getByText("undefined").count()).toBe(0);
});

testInBrowser("its example of a list leaves out filters that nobody asked for", async () => {
  const { page } = await lookAt("#tag/account/GET/v1/requests");
  const example = page.locator("pre").filter({ hasText: "/v1/requests?" }).first();
  await example.waitFor();
  const [, query] = /\/v1\/requests\?([^'"\s]*)/.exec((await example.textContent()) ?? "") ?? [];
  expect(query).toBe("limit=5");
});

const snapshotPlace = "#tag/data/GET/apis/v1/financial/financial-metrics/snapshot";

testInBrowser("a call tried in it on a desk is a real call", async () => {
  await expectRealCall(await lookAt(snapshotPlace));
});

testInBrowser("a call tried in it on a phone is a real call", async () => {
  const browser = await openBrowser({ width: 360, height: 900 });
  try {
    await browser.page.goto(`${gateway.url}/docs${snapshotPlace}`);
    await expectRealCall(browser);
  } finally {
    await browser.close();
  }
});

async function expectRealCall(browser: TestBrowser): Promise<void> {
  const { page } = browser;
  const before = await gateway.balance(account);
  await page.getByText("Price: 0.048 USD per call.").waitFor();
  await page.getByRole("button", { name: /Test Request.*financial-metrics/ }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByPlaceholder("Token").fill(account.key);
  const answered = page.waitForResponse((response) => response.url().includes("/financial-metrics/snapshot"));
  await dialog.getByRole("button", { name: /^Send/ }).first().click();
  const response = await answered;
  expect(response.status()).toBe(200);
  expect(await response.json()).toHaveProperty("snapshot.ticker", "AAPL");
  await dialog.getByText("200", { exact: false }).first().waitFor();
  // The key is for the call alone: nothing of it stays behind in the browser.
  const kept = await page.evaluate(
    "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])",
  );
  expect(kept).not.toContain(account.key);
  expectQuiet(browser, gateway.url);
  const after = await gateway.balance(account);
  expect(before.balance - after.balance).toBe(48_000);
}
