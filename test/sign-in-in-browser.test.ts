// A client's person allows it in a real browser, which holds forms to the policy of their page through every redirect.

import { afterAll, beforeAll, expect } from "bun:test";
import { openBrowser, testInBrowser } from "./browser.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "./harness.ts";
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
