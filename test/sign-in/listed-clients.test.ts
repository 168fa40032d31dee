// Clients that the operator has listed, and where a link to us may lead a person who has not answered yet.

import { afterAll, describe, expect, test } from "bun:test";
import { openTestGateway } from "../support/test-gateway.ts";
import { createClient, createPerson, redirectUri, registerClient } from "./oauth-person.ts";

const gateway = await openTestGateway({
  config: `mcp:
  clients:
    vault: { name: Vault, secret: a-secret-of-a-client, redirect_uris: ['${redirectUri}'] }
    site: { name: Site, redirect_uris: ['https://site.example/callback'] }
`,
});
const account = await gateway.openAccount({ creditUsd: "50" });
afterAll(() => gateway.close());

const person = () => createPerson(gateway.url, account.key);

test("a client with a secret set up by the operator signs in with it, and not without", async () => {
  const client = createClient(gateway.url, "vault");
  const { url, verifier } = client.begin();
  const browser = person();
  const first = await browser.open(url);
  const page = await browser.submit(first, { action: "sign_in", key: account.key });
  expect(page.html).toContain("set up by the operator");
  const returned = await browser.allow(url);
  const body = new URLSearchParams({
    grant_type: "authorization_code",
    code: returned.searchParams.get("code") ?? "",
    redirect_uri: redirectUri,
    code_verifier: verifier,
  }).toString();
  const ask = (headers: Record<string, string>): Promise<Response> =>
    fetch(`${gateway.url}/token`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
      body,
    });
  expect((await ask({ authorization: `Basic ${btoa("vault:wrong-secret-of-it")}` })).status).toBe(401);
  expect((await ask({ authorization: `Basic ${btoa("vault:a-secret-of-a-client")}` })).status).toBe(200);
});

describe("a link to us", () => {
  const page = "https://stranger.example/login";
  const failing = [{ prompt: "none" }, { response_type: "token" }, { resource: "https://other.example/" }];

  test("does not lead to a page of whoever registered it, unless its person has answered", async () => {
    const client = await registerClient(gateway.url, { redirect_uris: [page] });
    for (const more of [...failing, { prompt: "none", response_mode: "form_post" }]) {
      const { response, left, html } = await person().open(client.begin({ redirect_uri: page, ...more }).url);
      expect([more, left, response.status]).toEqual([more, false, 400]);
      expect(html).not.toContain(page);
    }
    const browser = person();
    const first = await browser.open(client.begin({ redirect_uri: page }).url);
    const denied = await browser.submit(first, { action: "deny" });
    expect([denied.url.origin + denied.url.pathname, denied.url.searchParams.get("error")]).toEqual([
      page,
      "access_denied",
    ]);
  });

  test("leads on to a client of the operator's, which is told what was wrong", async () => {
    const known = createClient(gateway.url, "site");
    for (const more of failing) {
      const { url, left } = await person().open(
        known.begin({ redirect_uri: "https://site.example/callback", ...more }).url,
      );
      expect([left, url.host, url.href.includes("error=")]).toEqual([true, "site.example", true]);
    }
  });
});
