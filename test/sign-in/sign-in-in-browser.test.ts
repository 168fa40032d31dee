// A client's person allows it in a real browser, which holds forms to the policy of their page through every redirect.

import { afterAll, beforeAll, expect } from "bun:test";
import { openBrowser, testInBrowser, violationsIn } from "../support/browser.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { registerClient } from "./oauth-person.ts";

let gateway: TestGateway;
let account: TestAccount;

beforeAll(async () => {
  gateway = await openTestGateway();
  account = await gateway.openAccount({ creditUsd: "5" });
});
afterAll(() => gateway.close());

const listen = (hostname: string, answer: () => Response) => Bun.serve({ hostname, port: 0, fetch: answer });
const done = (): Response =>
  new Response("<title>Signed in</title>", { headers: { "content-type": "text/html" } });

/** Signs in, allows, and waits until the browser stands where the client ends. */
async function allowInBrowser(redirectUri: string, endsAt: string): Promise<void> {
  const client = await registerClient(gateway.url, { redirect_uris: [redirectUri] });
  const { page, close } = await openBrowser();
  try {
    await page.goto(client.begin({ redirect_uri: redirectUri }).url);
    await page.fill("#key", account.key);
    await page.click("button[value=sign_in]");
    await page.click("button[value=allow]");
    await page.waitForURL((url) => url.href.startsWith(endsAt), { timeout: 10_000 });
    expect(await page.title()).toBe("Signed in");
  } finally {
    await close();
  }
}

testInBrowser("a client that listens at [::1] gets its code when its person allows it", async () => {
  const client = listen("::1", done);
  const callback = `http://[::1]:${client.port}/callback`;
  await allowInBrowser(callback, `${callback}?code=`);
  await client.stop(true);
});

testInBrowser("a client whose callback leads on to another origin takes its person along", async () => {
  const last = listen("127.0.0.1", done);
  const finished = `http://localhost:${last.port}/finished`;
  const client = listen("127.0.0.1", () => Response.redirect(finished, 302));
  await allowInBrowser(`http://127.0.0.1:${client.port}/callback`, finished);
  await client.stop(true);
  await last.stop(true);
});

/** Whether all of it is seen where the browser stands now. */
const isOnScreen = (selector: string): string => `(() => {
  const { top, bottom } = document.querySelector("${selector}").getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
})()`;

testInBrowser(
  "an amount that is none is told at its field, and two clients alike are told apart",
  async () => {
    const redirectUri = "http://127.0.0.1:9/callback";
    const client = await registerClient(gateway.url, { redirect_uris: [redirectUri] });
    const { page, close } = await openBrowser({ width: 390, height: 640 });
    try {
      await page.goto(client.begin({ redirect_uri: redirectUri }).url);
      await page.fill("#key", account.key);
      await page.click("button[value=sign_in]");
      for (const [field, sentence] of [
        ["#per_day_usd", "The amount for one day is not an amount in USD, such as 5."],
        ["#per_call_usd", "The amount for one call is not an amount in USD, such as 0.50."],
      ] as const) {
        await page.fill(field, "a lot");
        await page.click("button[value=allow]");
        const wrong = page.locator("[aria-invalid=true]");
        expect(await wrong.count()).toBe(1);
        expect(`#${await wrong.getAttribute("id")}`).toBe(field);
        expect(await page.evaluate("document.activeElement.id")).toBe(field.slice(1));
        const describedBy = await wrong.getAttribute("aria-describedby");
        expect(await page.locator(`#${describedBy}`).textContent()).toBe(sentence);
        expect(await page.evaluate(isOnScreen(`#${describedBy}`))).toBe(true);
        expect(await violationsIn(page)).toEqual([]);
      }
      await page.goto(`${gateway.url}/oauth/grants`);
      expect(await page.getByText("Since").count()).toBe(await page.getByText("Returns to").count());
      expect(await page.getByText("Since").count()).toBeGreaterThan(0);
    } finally {
      await close();
    }
  },
);
