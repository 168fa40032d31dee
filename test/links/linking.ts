// A gateway in front of the platform's double, and the steps of linking as callers and people take them.

import { Database } from "bun:sqlite";
import { afterAll, expect } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import type { GatewayParts } from "../../gateway/src/gateway.ts";
import { readBooks } from "../bad-inputs/nothing-happened.ts";
import { openXDouble, type XDouble } from "../doubles/x.ts";
import { openTestGateway, type TestAccount, type TestGateway } from "../support/test-gateway.ts";
import { createVirtualClock, type VirtualClock } from "../support/virtual-clock.ts";
import { startLink } from "../support/visitor.ts";

export const followPath = "/apis/v1/social_a/follow_social_a";
export const linksPath = "/apis/v1/social_a/links";
export const callbackPath = "/apis/v1/social_a/oauth_callback";
export const clientSecret = "client-secret_0123456789";
export const operatorKey = "x-operator-key-0123456789";
export const writeScopes = ["tweet.read", "users.read", "follows.write"] as const;
export const lastingScopes = [...writeScopes, "offline.access"] as const;
export const followMicros = 10_000;
export const hourMs = 3_600_000;
export const tenMinutesMs = 600_000;

export interface Linking {
  readonly gateway: TestGateway;
  readonly platform: XDouble;
  readonly clock: VirtualClock;
  /** Links the double's member to the account's key; the callback's page. */
  readonly link: (account: TestAccount, scopes?: readonly string[], member?: string) => Promise<Response>;
  /** An account whose key is linked, with these scopes. */
  readonly openLinked: (scopes?: readonly string[]) => Promise<TestAccount>;
  readonly follow: (account: TestAccount, headers?: Record<string, string>) => Promise<Response>;
  readonly close: () => Promise<void>;
}

interface LinkingOptions {
  readonly expiresInSeconds?: number;
  readonly keepsRefreshTokens?: boolean;
  readonly folder?: string;
  readonly platform?: XDouble;
  /** A last word about the gateway's parts. */
  readonly wrap?: (parts: GatewayParts) => GatewayParts;
}

export async function openLinking(further = "", linkingOptions: LinkingOptions = {}): Promise<Linking> {
  const { platform: given, folder, wrap, ...options } = linkingOptions;
  const platform = given ?? (await openXDouble({ clientId: "app-1", clientSecret, ...options }));
  const clock = createVirtualClock();
  const gateway = await openTestGateway({
    clock,
    ...(folder === undefined ? {} : { folder }),
    ...(wrap === undefined ? {} : { wrap }),
    config: `
sandbox: off
upstreams:
  platform:
    protocol: x
    url: "${platform.url}"
    key: ${operatorKey}
    authorize_url: "${platform.authorizeUrl}"
    token_url: "${platform.tokenUrl}"
    revoke_url: "${platform.revokeUrl}"
    client_id: app-1
    client_secret: ${clientSecret}
    timeout_ms: 2000
${further}`,
  });
  const link: Linking["link"] = async (account, scopes, member) => {
    const { auth_url: authUrl } = await startLink(gateway, account, scopes);
    const linked = await fetch(platform.agree(authUrl, member === undefined ? {} : { id: member }));
    expect(linked.status).toBe(200);
    return linked;
  };
  return {
    gateway,
    platform,
    clock,
    link,
    openLinked: async (scopes = writeScopes) => {
      const account = await gateway.openAccount();
      await link(account, scopes);
      return account;
    },
    follow: (account, headers) => gateway.post(account, followPath, { target_user_id: "6253282" }, headers),
    close: async () => {
      await gateway.close();
      await platform.close();
    },
  };
}

/** To be called once in a file of tests, which say for themselves which links can be renewed. */
export async function useLinking() {
  const linking = await openLinking("links: { offline_access: false }");
  afterAll(() => linking.close());
  return { linking, linked: linking.openLinked, receiptOf: linking.gateway.receipt };
}

/** Books and platform look the same before and after: no row, no hold, no request. */
export async function expectNoTraceOf(
  { gateway, platform }: Linking,
  act: () => Promise<void>,
): Promise<void> {
  const look = async () => ({ ...(await readBooks(gateway.data)), asked: platform.requests.length });
  const before = await look();
  await act();
  expect(await look()).toEqual(before);
}

/** How many links are stored that have not ended. */
export const liveLinks = async ({ store }: TestGateway): Promise<number> =>
  (await store.links.list({})).filter(({ revokedAtMs }) => revokedAtMs === undefined).length;

export const did = ({ book }: XDouble, what: string): number =>
  book.filter(({ billed }) => billed.what === what).length;

/** Everything the store has on disk. */
export function storedBytes({ databasePath }: TestGateway): Buffer {
  const files = [databasePath, `${databasePath}-wal`].filter((file) => existsSync(file));
  return Buffer.concat(files.map((file) => readFileSync(file)));
}

/** A second hand on the database file. */
export function inDatabase<Result>({ databasePath }: TestGateway, act: (db: Database) => Result): Result {
  const db = new Database(databasePath);
  try {
    return act(db);
  } finally {
    db.close();
  }
}

/** Another key of the same account. */
export async function openSibling(
  gateway: TestGateway,
  of: TestAccount,
  scope: "key" | "account" = "key",
): Promise<TestAccount> {
  const other = await gateway.openAccount({ scope });
  inDatabase(gateway, (db) =>
    db.run("UPDATE key SET account_id = ?1 WHERE id = ?2", [of.accountId, other.keyId]),
  );
  return { ...other, accountId: of.accountId };
}
