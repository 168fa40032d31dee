// A site with an address of its own, behind somebody else's web server: a key typed there is for the API alone.

import { afterAll, beforeAll, expect } from "bun:test";
import { completeAddresses } from "../../gateway/src/config/addresses.ts";
import { openBrowser, testInBrowser } from "../support/browser.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";

let gateway: TestGateway;
let account: TestAccount;
let website: ReturnType<typeof openWebsite>;

beforeAll(async () => {
  website = openWebsite(() => gateway.url);
  gateway = await openTestGateway({
    wrap: (parts) => ({
      ...parts,
      addresses: completeAddresses(parts.addresses.baseUrl, { siteUrl: website.siteUrl }),
    }),
  });
  account = await gateway.openAccount();
});
afterAll(async () => {
  await gateway.close();
  await website.close();
});

testInBrowser(
  "a call tried in the reference of a site apart goes to the API, and so does its key",
  async () => {
    const { page, complaints, close } = await openBrowser();
    try {
      await page.goto(`${website.siteUrl}/docs#tag/data/GET/apis/v1/financial/financial-metrics/snapshot`);
      await page.getByText("Price: 0.048 USD per call.").waitFor();
      await page.getByRole("button", { name: /Test Request.*financial-metrics/ }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByPlaceholder("Token").fill(account.key);
      const answered = page.waitForResponse(
        (response) =>
          response.url().includes("/financial-metrics/snapshot") && response.request().method() === "GET",
      );
      await dialog.getByRole("button", { name: /^Send/ }).first().click();
      const response = await answered;
      expect(new URL(response.url()).origin).toBe(gateway.url);
      expect(await response.json()).toHaveProperty("snapshot.ticker", "AAPL");
      expect(await page.getByText(`${gateway.url}/apis/v1/financial`).count()).toBeGreaterThan(0);
      expect(website.keysSeen).toEqual([]);
      expect(complaints).toEqual([]);
    } finally {
      await close();
    }
  },
);

/** Hands what is asked for under /gate on to the gateway, has nothing else, and writes down every key it is told. */
function openWebsite(gatewayUrl: () => string) {
  const keysSeen: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const key = request.headers.get("authorization");
      if (key !== null) keysSeen.push(key);
      const { pathname, search } = new URL(request.url);
      if (!pathname.startsWith("/gate/")) return new Response("no such page", { status: 404 });
      const answer = await fetch(gatewayUrl() + pathname.slice("/gate".length) + search, {
        headers: { accept: request.headers.get("accept") ?? "*/*", "accept-encoding": "identity" },
      });
      return new Response(await answer.arrayBuffer(), { status: answer.status, headers: answer.headers });
    },
  });
  return {
    siteUrl: `http://127.0.0.1:${server.port}/gate`,
    keysSeen,
    close: () => server.stop(true),
  };
}
