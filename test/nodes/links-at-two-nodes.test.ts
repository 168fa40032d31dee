// Linked accounts where calls, pages and renewals come to one process and the other.

import { afterEach, beforeEach, expect, test } from "bun:test";
import type { GatewayParts } from "../../gateway/src/gateway.ts";
import { openXDouble, type XDouble } from "../doubles/x.ts";
import type { TestAccount, TestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { clientSecret, did, followPath, lastingScopes } from "../links/linking.ts";
import { openTwoNodes, type TwoNodes } from "../support/two-nodes.ts";
import { createVirtualClock, type VirtualClock } from "../support/virtual-clock.ts";
import { startLink } from "../support/visitor.ts";

const hourMs = 3_600_000;
/** Longer than a renewal that was claimed is left to whoever claimed it. */
const claimOverMs = 31_000;

let platform: XDouble;
let clock: VirtualClock;
let nodes: TwoNodes;
let account: TestAccount;
/** What the first process waits for before it asks the platform for new tokens. */
let mayRefresh: Promise<void>;

beforeEach(async () => {
  platform = await openXDouble({ clientId: "app-1", clientSecret });
  clock = createVirtualClock();
  mayRefresh = Promise.resolve();
  nodes = await openTwoNodes({
    clock,
    config: `
sandbox: off
upstreams:
  platform:
    protocol: x
    url: "${platform.url}"
    authorize_url: "${platform.authorizeUrl}"
    token_url: "${platform.tokenUrl}"
    revoke_url: "${platform.revokeUrl}"
    client_id: app-1
    client_secret: ${clientSecret}`,
    wrap: (parts, node) => (node === "first" ? refreshingWhenAllowed(parts) : parts),
  });
  account = await nodes.first.openAccount();
  const { auth_url: authUrl } = await startLink(nodes.first, account, lastingScopes);
  nodes.sendTo("second");
  expect((await fetch(platform.agree(authUrl))).status).toBe(200);
});

afterEach(async () => {
  expect(await nodes.second.audit()).toEqual([]);
  await nodes.close();
  await platform.close();
});

const refreshingWhenAllowed = (parts: GatewayParts): GatewayParts => {
  const { platformClient } = parts;
  const refresh: typeof platformClient.refresh = async (...asked) => {
    await mayRefresh;
    return platformClient.refresh(...asked);
  };
  return { ...parts, platformClient: { ...platformClient, refresh } };
};

const follow = async (node: TestGateway): Promise<number> =>
  (await node.post(account, followPath, { target_user_id: "6253282" })).status;

test("an account that began to be linked at one process and was linked at another is acted for at both", async () => {
  expect([await follow(nodes.first), await follow(nodes.second)]).toEqual([200, 200]);
});

test("tokens that ended are renewed once for calls at both processes at once", async () => {
  clock.advance(2 * hourMs);
  platform.expire();
  const all = await Promise.all(
    Array.from({ length: 20 }, (_, index) => follow(index % 2 === 0 ? nodes.first : nodes.second)),
  );
  expect(new Set(all)).toEqual(new Set([200]));
  expect(did(platform, "refresh_token")).toBe(1);
});

test("while one process asks for new tokens the other waits, and never shows the platform the old ones", async () => {
  clock.advance(2 * hourMs);
  platform.expire();
  const allowed = Promise.withResolvers<void>();
  mayRefresh = allowed.promise;
  const asked = platform.requests.length;
  const one = follow(nodes.first);
  await until(() => isThere("SELECT 1 FROM link WHERE renewing_until_ms IS NOT NULL"));
  const other = follow(nodes.second);
  await Bun.sleep(300);
  expect(platform.requests.length).toBe(asked);
  allowed.resolve();
  expect([await one, await other]).toEqual([200, 200]);
  const tokens = platform.requests.slice(asked).filter(({ target }) => target.includes("token"));
  expect(tokens).toHaveLength(1);
});

test("tokens that one process could not store are stored without a call, before another asks with the old ones", async () => {
  clock.advance(2 * hourMs);
  platform.expire();
  const takeTokens = await takeNoTokens("true");
  expect(await follow(nodes.first)).not.toBe(200);
  await takeTokens();
  await until(() => isThere("SELECT 1 FROM link WHERE version = 2"));
  clock.advance(claimOverMs);
  expect(await follow(nodes.second)).toBe(200);
  expect(did(platform, "refresh_token")).toBe(1);
});

test("tokens that one process could not store keep the link alive, also after another was refused with the old ones", async () => {
  clock.advance(2 * hourMs);
  platform.expire();
  const takeTokens = await takeNoTokens("true");
  expect(await follow(nodes.first)).not.toBe(200);
  clock.advance(claimOverMs);
  expect(await follow(nodes.second)).toBe(403);
  expect(await isThere("SELECT 1 FROM link WHERE lapsed_at_ms IS NOT NULL")).toBe(true);
  await takeTokens();
  await until(() => isThere("SELECT 1 FROM link WHERE version = 2"));
  expect([await follow(nodes.first), await follow(nodes.second)]).toEqual([200, 200]);
  expect(did(platform, "revoke")).toBe(0);
});

test("tokens that one process could not store end at the platform with the link that another ended", async () => {
  clock.advance(2 * hourMs);
  platform.expire();
  const takeTokens = await takeNoTokens("NEW.revoked_at_ms IS NULL");
  expect(await follow(nodes.first)).not.toBe(200);
  const [link] = await nodes.second.store.links.list({});
  await nodes.second.post(account, `/apis/v1/social_a/links/${link?.id}/revoke`, {});
  const revoked = did(platform, "revoke");
  await takeTokens();
  await until(() => did(platform, "revoke") > revoked);
});

test("whoever comes too late to renew acts with what another process renewed meanwhile", async () => {
  clock.advance(2 * hourMs);
  platform.expire();
  const late = Promise.withResolvers<void>();
  mayRefresh = late.promise;
  const slow = follow(nodes.first);
  await until(() => isThere("SELECT 1 FROM link WHERE renewing_until_ms IS NOT NULL"));
  clock.advance(claimOverMs);
  expect(await follow(nodes.second)).toBe(200);
  late.resolve();
  expect(await slow).toBe(200);
  expect(await follow(nodes.first)).toBe(200);
});

const isThere = async (select: string): Promise<boolean> => (await nodes.data.query(select)).length > 0;

/** Has the store fail whenever tokens are to be written; what it returns lets it take them again. */
async function takeNoTokens(when: string): Promise<() => Promise<unknown>> {
  const { query } = nodes.data;
  await query({
    sqlite: `CREATE TRIGGER no_tokens BEFORE UPDATE OF access_token ON link WHEN ${when}
             BEGIN SELECT RAISE(ABORT, 'the tokens are not taken'); END`,
    postgres: `CREATE FUNCTION take_no_tokens() RETURNS trigger LANGUAGE plpgsql AS $$
               BEGIN RAISE EXCEPTION 'the tokens are not taken'; END $$;
               CREATE TRIGGER no_tokens BEFORE UPDATE OF access_token ON link FOR EACH ROW WHEN (${when})
               EXECUTE FUNCTION take_no_tokens()`,
  });
  return () => query({ sqlite: "DROP TRIGGER no_tokens", postgres: "DROP TRIGGER no_tokens ON link" });
}
