// The sandbox platform's pages, as a person sees them.

import { afterAll, beforeAll, expect } from "bun:test";
import { createHash } from "node:crypto";
import { openBrowser, testInBrowser } from "../support/browser.ts";
import { openSandbox, type SandboxControl } from "../support/sandbox.ts";

let sandbox: SandboxControl;
const app = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("back at the app") });

beforeAll(async () => {
  sandbox = await openSandbox();
});
afterAll(async () => {
  sandbox.stop();
  await app.stop(true);
});

const authorizeUrl = (): string => {
  const query = new URLSearchParams({
    response_type: "code",
    client_id: "tollgate-sandbox",
    redirect_uri: `${app.url.origin}/oauth_callback`,
    scope: "follows.write tweet.read users.read tweet.write like.write dm.read dm.write offline.access",
    state: "s",
    code_challenge: createHash("sha256").update("v".repeat(43)).digest("base64url"),
    code_challenge_method: "S256",
  });
  return `${sandbox.url}/public/x/oauth2/authorize?${query.toString()}`;
};

for (const { device, ...screen } of [
  { device: "phone", width: 360, height: 740, dark: true },
  { device: "desktop", width: 1280, height: 800, dark: false },
]) {
  testInBrowser(`on a ${device} a person signs in, reads what is asked, allows it and is back`, async () => {
    const { page, complaints, requested, close } = await openBrowser(screen);
    const isWiderThanScreen = () =>
      page.evaluate<boolean>("document.documentElement.scrollWidth > document.documentElement.clientWidth");
    await page.goto(authorizeUrl());
    expect(await page.getByRole("note").textContent()).toContain("nothing real");
    expect(await isWiderThanScreen()).toBe(false);

    await page
      .getByRole("group", { name: "Demo persons" })
      .getByRole("button", { name: "Ada (@ada)" })
      .click();
    await page.getByRole("heading", { name: "Allow Tollgate (sandbox)?" }).waitFor();
    expect(await page.locator("#scopes li").count()).toBe(8);
    expect(await isWiderThanScreen()).toBe(false);
    // Without a mouse: the first stop is the way to be somebody else, the next is to allow.
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");

    await page.waitForURL(`${app.url.origin}/oauth_callback?*`);
    expect(await page.textContent("body")).toBe("back at the app");
    expect(new URL(page.url()).searchParams.get("iss")).toBe(`${sandbox.url}/public/x`);

    const origins = new Set(requested.map((url) => new URL(url).origin));
    expect(origins).toEqual(new Set([sandbox.url, app.url.origin]));
    expect(complaints).toEqual([]);
    await close();
  });
}

testInBrowser("a person who becomes somebody else, then denies, is sent back empty-handed", async () => {
  const { page, close } = await openBrowser();
  await page.goto(authorizeUrl());
  await page.click("#person-ada");
  await page.click("#switch");
  await page.click("#person-ben");
  await page.locator("#person", { hasText: "Ben (@ben)" }).waitFor();
  await page.click("#deny");
  await page.waitForURL(`${app.url.origin}/oauth_callback?*`);
  expect(new URL(page.url()).searchParams.get("error")).toBe("access_denied");
  await close();
});
