// The link against the sandbox's platform, a certified authorization server: renewal, revocation, a wrong issuer.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { completeAddresses } from "../../gateway/src/config/addresses.ts";
import { openTestGateway, type TestGateway } from "../support/test-gateway.ts";
import { callbackPath, followPath, lastingScopes, linksPath, liveLinks } from "./linking.ts";
import { agree, createVisitor, linkInSandbox, startLink } from "../support/visitor.ts";

const ben = { target_user_id: "1801000000000000102" };

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await openTestGateway();
});
afterAll(() => gateway.close());
beforeEach(() => gateway.sandbox.clear());

const control = async (path: string, body: object): Promise<void> => {
  const response = await fetch(`${gateway.sandbox.url}/_control/x/${path}`, {
    method: "POST",
    body: JSON.stringify(body),
  });
  expect(response.ok).toBe(true);
};

const booked = async (what: string): Promise<number> =>
  (await gateway.sandbox.book()).filter(({ billed }) => billed?.[what] === 1).length;

test("fifty follows at once after the token ended: one renewal in the platform's book, fifty follows", async () => {
  const account = await gateway.openAccount();
  await linkInSandbox(gateway, account, lastingScopes);
  await control("expire", { tokens: "access" });
  const responses = await Promise.all(
    Array.from({ length: 50 }, () => gateway.post(account, followPath, ben)),
  );
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
  expect([await booked("refresh_token"), await booked("follows")]).toEqual([1, 50]);
  expect(await gateway.audit()).toEqual([]);
});

test("a grant that the platform ended cannot be renewed: link_expired, and linking again helps", async () => {
  const account = await gateway.openAccount();
  await linkInSandbox(gateway, account, lastingScopes);
  await control("expire", { tokens: "all" });
  const refused = await gateway.post(account, followPath, ben);
  expect([refused.status, await refused.json()]).toMatchObject([403, { error: { code: "link_expired" } }]);
  await linkInSandbox(gateway, account, lastingScopes);
  expect((await gateway.post(account, followPath, ben)).status).toBe(200);
});

test("a link ended by its owner is ended at the platform too", async () => {
  const account = await gateway.openAccount();
  await linkInSandbox(gateway, account, lastingScopes);
  const link = await gateway.store.links.findLive(account.keyId, "sandbox-x");
  const ended = await gateway.post(account, `${linksPath}/${link?.id}/revoke`, {});
  expect(await ended.json()).toMatchObject({ status: "revoked", platform: "revoked" });
  expect(await booked("revocations")).toBe(2);
});

test("an answer that claims another issuer, or none, links nothing", async () => {
  const account = await gateway.openAccount();
  const before = await liveLinks(gateway);
  const visitor = createVisitor();
  await control("issuer", { iss: "https://attacker.test" });
  const lied = await agree(visitor, (await startLink(gateway, account)).auth_url);
  expect(new URL(lied).searchParams.get("iss")).toBe("https://attacker.test");
  const silent = new URL(await agree(visitor, (await startLink(gateway, account)).auth_url));
  silent.searchParams.delete("iss");
  for (const url of [lied, silent.href]) expect((await fetch(url)).status).toBe(400);
  expect([await liveLinks(gateway), await booked("authorization_code")]).toEqual([before, 0]);
});

test("links are known under the operator's own words, and the old words ask for a key", async () => {
  const chirp = await openTestGateway({ config: "names: { social_a: chirp }" });
  const account = await chirp.openAccount();
  const started = await chirp.post(account, "/apis/v1/chirp/auth_chirp", {});
  const { auth_url: authUrl } = (await started.json()) as { auth_url: string };
  const back = await agree(createVisitor(), authUrl);
  expect(back).toStartWith(`${chirp.url}/apis/v1/chirp/oauth_callback?`);
  expect((await fetch(back)).status).toBe(200);
  expect((await chirp.post(account, "/apis/v1/chirp/follow_chirp", ben)).status).toBe(200);
  expect((await fetch(chirp.url + callbackPath)).status).toBe(401);
  await chirp.close();
});

test("behind TLS the cookie of our own page is tied to the host and never sent in the clear", async () => {
  const addresses = completeAddresses("https://gateway.test/under");
  const secure = await openTestGateway({ config: "links: { confirm: true }", parts: { addresses } });
  const { auth_url: authUrl } = await startLink(secure, await secure.openAccount());
  expect(authUrl).toStartWith("https://gateway.test/under/apis/v1/social_a/link_confirm?state=");
  const page = await createVisitor().open(authUrl.replace("https://gateway.test/under", secure.url));
  expect(page.headers.get("set-cookie")).toMatch(/^__Host-tollgate-link-\w{16}=.*; Path=\/;.*; Secure$/);
  expect(page.text).toContain('action="https://gateway.test/under/apis/v1/social_a/link_confirm"');
  await secure.close();
});
