// Linking a platform account to a key, from the request to its end, in front of the platform's double.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StoreFull } from "../../gateway/src/ledger/store-errors.ts";
import { useTool } from "../agents/agent-client.ts";
import { flat, read } from "../bad-inputs/error-shapes.ts";
import type { TestAccount } from "../support/test-gateway.ts";
import {
  callbackPath,
  clientSecret,
  did,
  lastingScopes,
  linksPath,
  liveLinks,
  openLinking,
  openSibling,
  storedBytes,
  tenMinutesMs,
  writeScopes,
  type Linking,
} from "./linking.ts";
import { signInWith } from "../sign-in/oauth-person.ts";
import { codeOf } from "../support/answers.ts";
import { createVisitor, startLink } from "../support/visitor.ts";

const startPath = "/apis/v1/social_a/auth_social_a";
const defaultScopes = [
  "follows.write",
  "tweet.read",
  "users.read",
  "tweet.write",
  "like.write",
  "dm.read",
  "dm.write",
];

let linking: Linking;
let account: TestAccount;

beforeAll(async () => {
  linking = await openLinking();
  account = await linking.gateway.openAccount();
});

afterAll(() => linking.close());

describe("a link is begun", () => {
  test("with the platform's page, the state in it, the scopes of the specification and leave to renew it, and ten minutes", async () => {
    const { gateway, clock, platform } = linking;
    const started = await startLink(gateway, account);
    const { searchParams: asked, origin, pathname } = new URL(started.auth_url);
    expect(origin + pathname).toBe(platform.authorizeUrl);
    expect(Object.fromEntries(asked)).toEqual({
      response_type: "code",
      client_id: "app-1",
      redirect_uri: gateway.url + callbackPath,
      scope: [...defaultScopes, "offline.access"].join(" "),
      state: started.state,
      code_challenge: asked.get("code_challenge") ?? "",
      code_challenge_method: "S256",
    });
    expect(asked.get("code_challenge")).toMatch(/^[\w-]{43}$/);
    expect(started.auth_url).not.toContain("+");
    expect(started.state).toMatch(/^[\w-]{43}$/);
    expect(started.expires_at).toBe(new Date(clock.wallMs() + tenMinutesMs).toISOString());
  });

  test("with the scopes the caller names, and without any body", async () => {
    const { auth_url: authUrl } = await startLink(linking.gateway, account, ["users.read", "offline.access"]);
    expect(new URL(authUrl).searchParams.get("scope")).toBe("users.read offline.access");
    const bare = await linking.gateway.call(account, startPath, { method: "POST" });
    expect(bare.status).toBe(200);
  });

  test("for no scope the platform does not have, none twice, and no other member", async () => {
    const bodies: readonly unknown[] = [
      { scopes: ["*"] },
      { scopes: ["tweet.read", "tweet.read"] },
      { scopes: [] },
      { scopes: Array.from({ length: 1_000 }, () => "tweet.read") },
      { scopes: "tweet.read" },
      { scopes: [["tweet.read"]] },
      { redirect_uri: "https://attacker.test" },
    ];
    for (const body of bodies) {
      flat(400, "invalid_parameters")(await read(linking.gateway.post(account, startPath, body)));
    }
  });

  test("once for an idempotency key", async () => {
    const key = { "idempotency-key": "link-1" };
    expect((await linking.gateway.post(account, startPath, {}, key)).status).toBe(200);
    const again = await linking.gateway.post(account, startPath, {}, key);
    expect([again.status, await codeOf(again)]).toEqual([409, "request_already_completed"]);
    const other = await linking.gateway.post(account, startPath, { scopes: ["users.read"] }, key);
    expect([other.status, await codeOf(other)]).toEqual([409, "idempotency_key_reused"]);
  });

  test("as often as twenty wait, each until its own end, and not once more", async () => {
    const own = await openLinking();
    const caller = await own.gateway.openAccount();
    const { state } = await startLink(own.gateway, caller);
    const starts: Response[] = [];
    for (let times = 1; times < 20; times++) starts.push(await own.gateway.post(caller, startPath, {}));
    expect(starts.map(({ status }) => status)).toEqual(starts.map(() => 200));
    const more = await own.gateway.post(caller, startPath, {});
    expect([more.status, more.headers.get("retry-after"), await codeOf(more)]).toEqual([
      429,
      "600",
      "quota_exceeded",
    ]);
    // Who is refused by a limit uses up nothing of another.
    const left = (response: Response | undefined) => response?.headers.get("x-ratelimit-remaining-requests");
    expect(left(more)).toBe(left(starts.at(-1)));
    const back = await fetch(`${own.gateway.url}${callbackPath}?error=access_denied&state=${state}`);
    expect(await back.text()).not.toContain("not known");
    expect((await own.gateway.post(caller, startPath, {})).status).toBe(200);
    await own.close();
  });

  test("with offline.access beside them where the operator wants links to last, and without where not", async () => {
    for (const [wanted, asked] of [
      [true, [...defaultScopes, "offline.access"]],
      [false, defaultScopes],
    ] as const) {
      const own = await openLinking(`links: { offline_access: ${wanted} }`);
      const { auth_url: authUrl } = await startLink(own.gateway, await own.gateway.openAccount());
      expect(new URL(authUrl).searchParams.get("scope")).toBe(asked.join(" "));
      await own.close();
    }
  });

  test("and outlives its first hours; that it may is no scope the caller is told of without asking", async () => {
    const own = await openLinking();
    const caller = await own.gateway.openAccount();
    const scopes = async (): Promise<unknown> => {
      const { data } = (await (await own.gateway.call(caller, linksPath)).json()) as {
        data: { scopes: string[] }[];
      };
      return data[0]?.scopes;
    };
    expect(await (await own.link(caller)).text()).not.toContain("offline.access");
    expect(await scopes()).toEqual(defaultScopes);
    own.clock.advance(3 * 3_600_000);
    expect((await own.follow(caller)).status).toBe(200);
    expect(await scopes()).toEqual(defaultScopes);
    await own.link(caller, lastingScopes);
    expect(await scopes()).toEqual([...lastingScopes]);
    await own.close();
  });
});

describe("a person who agreed comes back", () => {
  test("to a page that names account and key, loads nothing and holds no secret", async () => {
    const { gateway, platform } = linking;
    const page = await linking.link(account, lastingScopes);
    const text = await page.text();
    expect(text).toContain("<strong>@ada_l</strong>");
    expect(text.replaceAll(/\s+/g, " ")).toContain("the key <strong>test</strong> of <strong>test</strong>");
    const style = /<style>([^<]*)<\/style>/.exec(text)?.[1] ?? "";
    const digest = new Bun.CryptoHasher("sha256").update(style).digest("base64");
    expect(text).not.toMatch(/<script|src=|url\(/);
    for (const secret of platform.secrets()) expect(text).not.toContain(secret);
    expect(Object.fromEntries(page.headers)).toMatchObject({
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
      "x-frame-options": "DENY",
      "content-type": "text/html; charset=utf-8",
    });
    const policy = page.headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain(`style-src 'sha256-${digest}'`);
    expect(policy).toContain("frame-ancestors 'none'");
    const { data } = (await (await gateway.call(account, linksPath)).json()) as { data: object[] };
    expect(data).toHaveLength(1);
    expect(data[0]).toMatchObject({
      key_id: account.keyId,
      user: { id: "2244994945", username: "ada_l" },
      scopes: lastingScopes,
      status: "active",
    });
  });

  test("with names that are markup, and sees them as text", async () => {
    const { gateway } = linking;
    const sly = await gateway.openAccount();
    await gateway.store.keys.update(sly.keyId, { name: '<img src=x onerror="alert(1)">' });
    const text = await (await linking.link(sly)).text();
    expect(text).toContain("&lt;img src=x onerror=&quot;alert(1)&quot;&gt;");
    expect(text).not.toContain("<img");
  });

  test("and what is stored, logged and shown holds no code, token, verifier or state", async () => {
    const { gateway, platform } = linking;
    const { state, auth_url: authUrl } = await startLink(gateway, account, lastingScopes);
    const page = await (await fetch(platform.agree(authUrl))).text();
    const undo = /name="token" value="([^"]+)"/.exec(page)?.[1] ?? "";
    expect(undo).toMatch(/^[\w-]{43}$/);
    const sent = platform.requests.map(({ body }) => new TextDecoder().decode(body)).join("\n");
    const verifier = [...sent.matchAll(/code_verifier=([\w-]+)/g)].map(([, value = ""]) => value);
    expect(verifier.length).toBeGreaterThan(0);
    const [stored, logged] = [storedBytes(gateway), gateway.logged.join("")];
    expect(stored.includes("ada_l")).toBe(true);
    for (const secret of [state, undo, clientSecret, ...verifier, ...platform.secrets()]) {
      expect({ secret, stored: stored.includes(secret) }).toEqual({ secret, stored: false });
      expect({ secret, logged: logged.includes(secret) }).toEqual({ secret, logged: false });
    }
  });
});

describe("a link ends", () => {
  const hourMs = 60 * 60_000;
  interface Ended {
    readonly revoked_at: string;
    readonly platform?: string;
  }

  test("by undo, once, for whoever has the page, and the platform is told", async () => {
    const { gateway, platform } = linking;
    const person = await gateway.openAccount();
    const visitor = createVisitor();
    const { auth_url: authUrl } = await startLink(gateway, person, lastingScopes);
    const page = await visitor.open(platform.agree(authUrl));
    const forged = await fetch(`${gateway.url}/apis/v1/social_a/link_undo`, { method: "POST" });
    expect(forged.status).toBe(400);
    expect(await gateway.store.links.findLive(person.keyId, "platform")).toBeDefined();
    const revokedBefore = did(platform, "revoke");
    expect((await visitor.submit(page)).text).toContain("Link undone");
    expect(did(platform, "revoke") - revokedBefore).toBe(2);
    expect(await gateway.store.links.findLive(person.keyId, "platform")).toBeUndefined();
    expect((await visitor.submit(page)).status).toBe(400);
  });

  test.each([
    ["within an hour", hourMs - 1, 200],
    ["no more after an hour", hourMs, 400],
  ])("by undo %s", async (_, waitedMs, status) => {
    const { gateway, platform, clock } = linking;
    const person = await gateway.openAccount();
    const visitor = createVisitor();
    const { auth_url: authUrl } = await startLink(gateway, person, lastingScopes);
    const page = await visitor.open(platform.agree(authUrl));
    clock.advance(waitedMs);
    expect((await visitor.submit(page)).status).toBe(status);
    const isLive = (await gateway.store.links.findLive(person.keyId, "platform")) !== undefined;
    expect(isLive).toBe(status !== 200);
  });

  test("by linking again: the new one serves, and another person's old one ends at the platform", async () => {
    const { gateway, platform } = linking;
    const person = await gateway.openAccount();
    await linking.link(person, lastingScopes);
    const revoked = did(platform, "revoke");
    await linking.link(person, writeScopes);
    expect(did(platform, "revoke")).toBe(revoked);
    await linking.link(person, lastingScopes, "99");
    // Once for the token to act with, once for the one to renew it with.
    expect(did(platform, "revoke")).toBe(revoked + 2);
    const links = await gateway.store.links.list({ keyId: person.keyId });
    expect(links.map(({ user, revokedAtMs }) => [user?.id, revokedAtMs === undefined])).toEqual([
      ["99", true],
      ["2244994945", false],
      ["2244994945", false],
    ]);
  });

  test("by its owner's word: a key ends its own, a credential of the account ends all, nobody else any", async () => {
    const { gateway } = linking;
    const owner = await gateway.openAccount();
    await linking.link(owner, lastingScopes);
    const live = await gateway.store.links.findLive(owner.keyId, "platform");
    const path = (id: string) => `${linksPath}/${id}/revoke`;
    const sibling = await openSibling(gateway, owner);
    const wide = await openSibling(gateway, owner, "account");
    const stranger = await gateway.openAccount({ scope: "account" });
    for (const other of [sibling, stranger]) {
      flat(404, "link_not_found")(await read(gateway.post(other, path(live?.id ?? ""), {})));
      flat(404, "link_not_found")(await read(gateway.post(other, path("lnk_nobody"), {})));
      expect(await (await gateway.call(other, linksPath)).json()).toEqual({ object: "list", data: [] });
    }
    const seen = (await (await gateway.call(wide, linksPath)).json()) as { data: { link_id: string }[] };
    expect(seen.data.map(({ link_id: id }) => id)).toEqual([live?.id ?? ""]);
    const ended = await gateway.call(wide, path(live?.id ?? ""), { method: "POST" });
    expect(await ended.json()).toMatchObject({ link_id: live?.id, status: "revoked", platform: "revoked" });
    flat(404, "link_not_found")(await read(gateway.post(sibling, path(live?.id ?? ""), {})));
  });

  test("once: whoever repeats the end of a link is told of the first, and the platform is not", async () => {
    const { gateway, platform, clock } = linking;
    const owner = await gateway.openAccount();
    await linking.link(owner, lastingScopes);
    const live = await gateway.store.links.findLive(owner.keyId, "platform");
    const path = `${linksPath}/${live?.id}/revoke`;
    const { platform: told, ...ended } = (await (await gateway.post(owner, path, {})).json()) as Ended;
    expect(told).toBe("revoked");
    const asked = did(platform, "revoke");
    clock.advance(hourMs);
    for (const headers of [{}, { "idempotency-key": "again" }, { "idempotency-key": "again" }]) {
      const again = await gateway.post(owner, path, {}, headers);
      expect([again.status, await again.json()]).toEqual([200, ended]);
    }
    expect(did(platform, "revoke")).toBe(asked);
  });

  test("once also for whoever asks at the same moment", async () => {
    const { gateway } = linking;
    const owner = await gateway.openAccount();
    await linking.link(owner, lastingScopes);
    const live = await gateway.store.links.findLive(owner.keyId, "platform");
    const path = `${linksPath}/${live?.id}/revoke`;
    const answers = await Promise.all(
      Array.from({ length: 5 }, async () => (await gateway.post(owner, path, {})).json() as Promise<Ended>),
    );
    expect(answers.flatMap(({ platform }) => platform ?? [])).toEqual(["revoked"]);
    expect(new Set(answers.map(({ revoked_at: at }) => at)).size).toBe(1);
  });

  test("by a client that was signed in with its key, or with one that sees the account; with another, it sees none", async () => {
    const { gateway } = linking;
    const owner = await gateway.openAccount();
    await linking.link(owner, lastingScopes);
    const id = (await gateway.store.links.findLive(owner.keyId, "platform"))?.id ?? "";
    const signedIn = async (account: TestAccount): Promise<TestAccount> => {
      const { access_token: key } = await signInWith(gateway.url, account.key);
      return { ...account, key };
    };
    const seenBy = async (client: TestAccount): Promise<readonly string[]> => {
      const use = { operation_id: "social_a.links.list", arguments: {}, max_price_usd: 0 };
      const told = await useTool(`${gateway.url}/mcp`, client.key, "use", use);
      const { data } = (await (await gateway.call(client, linksPath)).json()) as { data: unknown };
      expect(told.structuredContent["result"]).toEqual({ object: "list", data });
      return (data as { link_id: string }[]).map((link) => link.link_id);
    };
    const path = `${linksPath}/${id}/revoke`;

    const sibling = await signedIn(await openSibling(gateway, owner));
    expect(await seenBy(sibling)).toEqual([]);
    flat(404, "link_not_found")(await read(gateway.post(sibling, path, {})));
    expect(await seenBy(await signedIn(await openSibling(gateway, owner, "account")))).toEqual([id]);
    const own = await signedIn(owner);
    expect(await seenBy(own)).toEqual([id]);
    expect((await gateway.post(own, path, {})).status).toBe(200);
    expect(await seenBy(own)).toEqual([]);
  });

  test("here also when the platform cannot be told, and says so", async () => {
    const { gateway, platform } = linking;
    const owner = await gateway.openAccount();
    await linking.link(owner);
    const live = await gateway.store.links.findLive(owner.keyId, "platform");
    platform.answerNext({ status: 503 });
    const ended = await gateway.post(owner, `${linksPath}/${live?.id}/revoke`, {});
    expect(await ended.json()).toMatchObject({ status: "revoked", platform: "not_reached" });
    expect(await gateway.store.links.findLive(owner.keyId, "platform")).toBeUndefined();
  });
});

test("a link outlives the process, under the same secret", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-links-"));
  const before = await openLinking("", { folder });
  const owner = await before.gateway.openAccount();
  await before.link(owner, writeScopes);
  await before.gateway.close();
  const after = await openLinking("", { folder, platform: before.platform });
  expect((await after.follow(owner)).status).toBe(200);
  await after.close();
  rmSync(folder, { recursive: true, force: true });
});

test("tokens of a link that the store did not take end at the platform", async () => {
  const full = await openLinking("", {
    wrap: (parts) => {
      const links = { ...parts.store.links, save: () => Promise.reject(new StoreFull()) };
      return { ...parts, store: { ...parts.store, links } };
    },
  });
  try {
    const account = await full.gateway.openAccount();
    const { auth_url: authUrl } = await startLink(full.gateway, account, lastingScopes);
    expect((await fetch(full.platform.agree(authUrl))).status).toBe(500);
    expect(await liveLinks(full.gateway)).toBe(0);
    expect(did(full.platform, "revoke")).toBe(2);
  } finally {
    await full.close();
  }
});
