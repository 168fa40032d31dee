// The pages of an account as a person sees them: in Chromium, on a phone and a desk, in light and dark.

import { afterAll, beforeAll, expect } from "bun:test";
import { exampleRequest } from "../../gateway/src/offer/examples/example-request.ts";
import type { Offer } from "../../gateway/src/offer/offer.ts";
import { isSold } from "../../gateway/src/operation/operation.ts";
import { createPerson, registerClient, signInWith } from "../sign-in/oauth-person.ts";
import {
  looks,
  openBrowser,
  show,
  testInBrowser,
  violationsIn,
  widthOf,
  type BrowserOptions,
  type TestBrowser,
} from "../support/browser.ts";
import { snapshotPath } from "../support/purchases.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { linkInSandbox } from "../support/visitor.ts";
import { awayFromMidnight } from "../support/wall-clock.ts";

await awayFromMidnight();

let gateway: TestGateway;
let account: TestAccount;
let receipt: string;
let byClient: string;
let grantId: string;

beforeAll(async () => {
  gateway = await openTestGateway();
  account = await gateway.openAccount({
    scope: "account",
    budget: { window: "month", limitMicros: 1_500_000n },
  });
  receipt = (await gateway.call(account, snapshotPath)).headers.get("x-request-id") ?? "";
  await gateway.post(account, "/v1/rerank", { query: "tea", documents: ["green tea", "a car"] });
  await gateway.call(await gateway.issueKey(account), snapshotPath);
  const longest = longestNamed(gateway.gateway.offer());
  for (const name of ["production server", "production_server_of_eu_central_1_blue"])
    await gateway.call(await gateway.issueKey(account, { name }), longest);
  await signInWith(gateway.url, account.key);
  await buyByClient(longest);
  await linkInSandbox(gateway, account);
});
afterAll(() => gateway.close());

/** A client with the longest name that one may have, in one word. */
async function buyByClient(path: string): Promise<void> {
  const client = await registerClient(gateway.url, { client_name: "donaudampfschifffahrts".repeat(4) });
  const { url, verifier } = client.begin();
  const returned = await createPerson(gateway.url, account.key).allow(url);
  const { access_token: key } = await client.redeem(returned, verifier);
  const bought = await gateway.call({ ...account, key }, path);
  byClient = bought.headers.get("x-request-id") ?? "";
  grantId = (await gateway.store.calls.findAny(byClient))?.client?.grantId ?? "none";
}

const pages: readonly { readonly what: string; readonly path: () => string }[] = [
  { what: "overview", path: () => "/account" },
  { what: "calls", path: () => "/account/calls" },
  { what: "receipt", path: () => `/account/calls/${receipt}` },
  { what: "receipt of a client", path: () => `/account/calls/${byClient}` },
  { what: "calls of a client", path: () => `/account/calls?grant_id=${grantId}` },
  { what: "keys", path: () => "/account/keys" },
  { what: "links", path: () => "/account/links" },
  { what: "clients", path: () => "/oauth/grants" },
];

for (const { what, path } of pages) {
  testInBrowser(
    `an account's page of its ${what} fits a phone and a desk, and axe finds nothing wrong with it`,
    () =>
      inBrowser(async ({ page, complaints, requested }) => {
        await signIn(page, account);
        await page.goto(gateway.url + path());
        await page.evaluate("document.querySelector('details')?.setAttribute('open', '')");
        for (const look of looks) {
          await show(page, look);
          expect([look, await widthOf(page)]).toEqual([look, look.width]);
        }
        for (const look of looks.slice(0, 2)) {
          await show(page, look);
          expect([look, await violationsIn(page)]).toEqual([look, []]);
        }
        expect(complaints).toEqual([]);
        expect(requested.filter((url) => !url.startsWith(`${gateway.url}/`))).toEqual([]);
        expect(requested.join(" ")).not.toContain(account.key);
      }),
  );
}

/** Tables of which a part can only be seen by scrolling them. */
const cutTables = `[...document.querySelectorAll(".table")]
  .filter((table) => table.scrollWidth > table.clientWidth)
  .map((table) => table.getAttribute("aria-label"))`;

/** Outcomes that stand on two lines though they are one word. */
const brokenWords = `[...document.querySelectorAll(".table td > div")]
  .filter((cell) => /^\\s*[a-z]+\\s*$/.test(cell.textContent) && cell.offsetHeight > 30)
  .map((cell) => cell.textContent.trim())`;

testInBrowser("what a call cost is seen at every width: no table is cut off, and no word broken", () =>
  inBrowser(async ({ page }) => {
    await signIn(page, account);
    for (const { what, path } of pages) {
      await page.goto(gateway.url + path());
      await page.evaluate("document.querySelector('details')?.setAttribute('open', '')");
      for (const width of [700, 768, 1024, 1056, 1280, 1920]) {
        await page.setViewportSize({ width, height: 800 });
        expect([what, width, await page.evaluate(cutTables)]).toEqual([what, width, []]);
        const broken = await page.evaluate(brokenWords);
        expect([what, width, broken]).toEqual([what, width, []]);
      }
    }
  }),
);

/** Lines on which the digits of each amount stand. */
const linesOfDigits = `[...document.querySelectorAll(".amount")].map((amount) => {
  const range = document.createRange();
  range.setStart(amount.firstChild, 0);
  range.setEnd(amount.firstChild, amount.textContent.lastIndexOf(" "));
  return range.getClientRects().length;
})`;

testInBrowser(
  "the digits of an amount stand in one line, however many they are, on screens and on paper",
  () =>
    inBrowser(async ({ page }) => {
      const holder = await gateway.openAccount({ creditUsd: "987654.123456" });
      await signIn(page, holder);
      for (const media of ["screen", "print"] as const) {
        await page.emulateMedia({ media });
        for (const width of [320, 360, 480, 700, 720, 768, 800, 1024, 1280]) {
          await page.setViewportSize({ width, height: 800 });
          expect([media, width, await widthOf(page)]).toEqual([media, width, width]);
          expect([media, width, await page.evaluate(linesOfDigits)]).toEqual([
            media,
            width,
            [1, 1, 1, 1, 1, 1],
          ]);
        }
      }
    }),
);

/** Lines of operation ids that begin in the middle of a word. */
const brokenIds = `[...document.querySelectorAll(".table td code")].flatMap((id) => {
  const lines = new Map();
  for (const text of [...id.childNodes].filter(({ nodeType }) => nodeType === 3))
    for (let at = 0; at < text.length; at++) {
      const range = document.createRange();
      range.setStart(text, at);
      range.setEnd(text, at + 1);
      const { top } = range.getBoundingClientRect();
      lines.set(top, (lines.get(top) ?? "") + range.toString());
    }
  return [...lines.values()].slice(1).filter((line) => !line.startsWith("."));
})`;

testInBrowser("the ids of operations are broken between their parts, however long a key is named", () =>
  inBrowser(async ({ page }) => {
    const name = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenträger";
    const holder = await gateway.openAccount({ scope: "account", name });
    await gateway.call(holder, snapshotPath);
    await gateway.post(holder, "/v1/rerank", { query: "tea", documents: ["green tea", "a car"] });
    await signIn(page, holder);
    await page.goto(`${gateway.url}/account/calls`);
    for (const width of [700, 820, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      expect([width, await page.evaluate(brokenIds)]).toEqual([width, []]);
    }
  }),
);

testInBrowser("a key with a long name widens none of its pages on a phone", () =>
  inBrowser(
    async ({ page }) => {
      const name = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichenträger";
      await signIn(page, await gateway.issueKey(account, { name, scope: "account" }));
      for (const { what, path } of pages) {
        await page.goto(gateway.url + path());
        expect([what, await widthOf(page)]).toEqual([what, 360]);
      }
    },
    { width: 360 },
  ),
);

testInBrowser("the end of a key stays in one piece beside a name that is written from the right", () =>
  inBrowser(async ({ page }) => {
    const holder = await gateway.openAccount({ scope: "account" });
    const name = "مفتاح الإنتاج";
    let named = await gateway.issueKey(holder, { name });
    while (!/\d...$/.test(named.key)) named = await gateway.issueKey(holder, { name });
    const bought = (await gateway.call(named, snapshotPath)).headers.get("x-request-id") ?? "";
    await signIn(page, holder);
    const pieces = `[...document.querySelectorAll(".whole")].map((end) => end.getClientRects().length)`;
    for (const path of ["/account", "/account/calls", `/account/calls/${bought}`, "/account/keys"]) {
      await page.goto(gateway.url + path);
      expect([path, new Set((await page.evaluate(pieces)) as readonly number[])]).toEqual([
        path,
        new Set([1]),
      ]);
    }
  }),
);

/** Days and ends of keys that stand on more lines than one. */
const brokenMarks = `[...document.querySelectorAll(".table :is(time, .whole)")].flatMap((mark) => {
  const range = document.createRange();
  range.setStart(mark.firstChild, 0);
  range.setEnd(mark.firstChild, Math.min(mark.firstChild.length, 10));
  return range.getClientRects().length === 1 ? [] : [mark.textContent];
})`;

testInBrowser("no day and no end of a key is broken at its hyphens and dots, on a tablet or a desk", () =>
  inBrowser(async ({ page }) => {
    const holder = await gateway.openAccount({ scope: "account", name: "production of the house" });
    await gateway.call(holder, snapshotPath);
    const ended = await gateway.issueKey(holder, { name: "ended" });
    await gateway.store.keys.revoke(ended.keyId, Date.now());
    await signIn(page, holder);
    for (const path of ["/account", "/account/calls", "/account/keys"]) {
      await page.goto(gateway.url + path);
      expect([path, await page.locator(".table :is(time, .whole)").count()]).not.toEqual([path, 0]);
      for (const width of [700, 768, 900, 1024, 1100, 1440]) {
        await page.setViewportSize({ width, height: 800 });
        expect([path, width, await page.evaluate(brokenMarks)]).toEqual([path, width, []]);
      }
    }
  }),
);

testInBrowser("on paper everything is there, dark on light, and nothing to press or follow", () =>
  inBrowser(async ({ page }) => {
    await signIn(page, account);
    await page.setViewportSize({ width: 720, height: 1000 });
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    for (const { what, path } of pages) {
      await page.goto(gateway.url + path());
      expect([what, await page.evaluate(cutTables)]).toEqual([what, []]);
      for (const role of ["button", "navigation"] as const)
        expect([what, role, await page.getByRole(role).filter({ visible: true }).count()]).toEqual([
          what,
          role,
          0,
        ]);
      const ground = await page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
      expect(ground).toBe("rgb(252, 251, 248)");
    }
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
    inBrowser(
      async ({ page }) => {
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
        await page.getByRole("heading", { name: "Your clients" }).waitFor();
        await page.getByRole("navigation", { name: "Your account" }).getByText("Keys").click();
        await page.getByRole("button", { name: "Sign out" }).click();
        expect(await page.getByLabel("API key of your account").isVisible()).toBe(true);
      },
      { javaScript: false },
    ),
);

/** The example of the operation whose id takes the most room in a table. */
function longestNamed({ routes, names }: Offer): string {
  const [longest] = routes.all
    .filter(({ operation }) => operation.method === "GET" && isSold(operation))
    .toSorted((a, b) => b.operation.id.length - a.operation.id.length);
  const example = longest && exampleRequest(longest, names);
  if (!example) throw new Error("No operation that is sold has an example to call.");
  return example.target;
}

async function inBrowser(
  visit: (browser: TestBrowser) => Promise<void>,
  options: BrowserOptions = {},
): Promise<void> {
  const browser = await openBrowser(options);
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
