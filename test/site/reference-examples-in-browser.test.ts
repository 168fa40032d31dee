// What the reference shows before anybody has typed anything is a call that is worth making.

import { expect } from "bun:test";
import { openBrowser, testInBrowser } from "../support/browser.ts";
import { openTestGateway } from "../support/test-gateway.ts";

testInBrowser("the reference's example of a list leaves out filters that nobody asked for", async () => {
  const gateway = await openTestGateway();
  const { page, close } = await openBrowser();
  try {
    await page.goto(`${gateway.url}/docs#tag/account/GET/v1/requests`);
    const example = page.locator("pre").filter({ hasText: "/v1/requests?" }).first();
    await example.waitFor();
    const [, query] = /\/v1\/requests\?([^'"\s]*)/.exec((await example.textContent()) ?? "") ?? [];
    expect(query).toBe("limit=5");
  } finally {
    await close();
    await gateway.close();
  }
});
