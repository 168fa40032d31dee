// Callbacks that link nothing: forged, replayed, late, of another attempt, or answered wrongly by the platform.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { flat, read } from "../bad-inputs/error-shapes.ts";
import { openAttackerListener } from "../doubles/vendor-double.ts";
import type { TestAccount } from "../support/test-gateway.ts";
import {
  callbackPath,
  did,
  lastingScopes,
  liveLinks,
  openLinking,
  tenMinutesMs,
  type Linking,
} from "./linking.ts";
import { startLink } from "../support/visitor.ts";

let linking: Linking;
let account: TestAccount;

beforeAll(async () => {
  linking = await openLinking();
  account = await linking.gateway.openAccount();
});

afterAll(() => linking.close());

describe("nothing is linked", () => {
  /** A callback that must end on a page of this status, with as many links as before. */
  const expectRefused = async (url: string, status = 400) => {
    const before = await liveLinks(linking.gateway);
    const page = await fetch(url, { redirect: "manual" });
    expect(page.headers.get("content-type")).toStartWith("text/html");
    expect([status, await liveLinks(linking.gateway)]).toEqual([page.status, before]);
    return page.text();
  };

  const begun = async (of = account) => {
    const started = await startLink(linking.gateway, of, lastingScopes);
    return { ...started, back: linking.platform.agree(started.auth_url) };
  };

  const changed = (url: string, change: (query: URLSearchParams) => void): string => {
    const next = new URL(url);
    change(next.searchParams);
    return next.href;
  };

  test("by a callback nobody asked for: no state, an empty, a forged, a doubled one", async () => {
    const { back, state } = await begun();
    for (const query of ["", "?state=", "?code=abc", `?code=abc&state=${"A".repeat(43)}`]) {
      await expectRefused(linking.gateway.url + callbackPath + query);
    }
    await expectRefused(changed(back, (query) => query.append("state", state)));
    // The state that was given twice was not used up by that.
    expect((await fetch(back)).status).toBe(200);
  });

  test("by a replay: a state works once, and so does a code", async () => {
    const { back } = await begun();
    expect((await fetch(back)).status).toBe(200);
    const exchanged = did(linking.platform, "authorization_code");
    expect(await expectRefused(back)).toContain("used already");
    const fresh = await startLink(linking.gateway, account);
    const code = new URL(back).searchParams.get("code") ?? "";
    await expectRefused(`${linking.gateway.url}${callbackPath}?code=${code}&state=${fresh.state}`);
    expect(did(linking.platform, "authorization_code")).toBe(exchanged);
  });

  test("of twenty callbacks at once with one state, but by the first", async () => {
    const { back } = await begun();
    const statuses = await Promise.all(Array.from({ length: 20 }, async () => (await fetch(back)).status));
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 400)).toHaveLength(19);
  });

  test("after ten minutes", async () => {
    const { back } = await begun();
    linking.clock.advance(tenMinutesMs);
    for (const _again of [1, 2]) expect(await expectRefused(back)).toContain("expired");
  });

  test("with one key's code and another's state: the code is bound to its own attempt", async () => {
    const other = await linking.gateway.openAccount();
    const [mine, theirs] = [await begun(), await begun(other)];
    const code = new URL(theirs.back).searchParams.get("code") ?? "";
    await expectRefused(changed(mine.back, (query) => query.set("code", code)));
    expect(await linking.gateway.store.links.list({ keyId: other.keyId })).toEqual([]);
  });

  test("to any key but the one whose state it is, whoever's browser comes", async () => {
    const [one, two] = [await linking.gateway.openAccount(), await linking.gateway.openAccount()];
    const { back } = await begun(two);
    const bearer = { authorization: `Bearer ${one.key}` };
    expect((await fetch(back, { headers: bearer })).status).toBe(200);
    expect(await linking.gateway.store.links.list({ keyId: one.keyId })).toEqual([]);
    expect(await linking.gateway.store.links.list({ keyId: two.keyId })).toHaveLength(1);
  });

  test("by an answer of another issuer, and a state is used up by it", async () => {
    const { back } = await begun();
    const exchanged = did(linking.platform, "authorization_code");
    await expectRefused(changed(back, (query) => query.set("iss", "https://attacker.test")));
    await expectRefused(back);
    expect(did(linking.platform, "authorization_code")).toBe(exchanged);
    const honest = await begun();
    const own = new URL(linking.platform.authorizeUrl).origin;
    expect((await fetch(changed(honest.back, (query) => query.set("iss", own)))).status).toBe(200);
  });

  test("by two codes, two issuers or none of the code", async () => {
    const bend: readonly ((query: URLSearchParams) => void)[] = [
      (query) => query.append("code", "another"),
      (query) => query.delete("code"),
      (query) => query.set("code", ""),
      (query) => {
        query.append("iss", new URL(linking.platform.authorizeUrl).origin);
        query.append("iss", "https://attacker.test");
      },
    ];
    const exchanged = did(linking.platform, "authorization_code");
    for (const change of bend) await expectRefused(changed((await begun()).back, change));
    expect(did(linking.platform, "authorization_code")).toBe(exchanged);
  });

  test("when the person says no, or the platform does", async () => {
    const { auth_url: authUrl } = await startLink(linking.gateway, account);
    const denied = linking.platform.deny(authUrl);
    expect(await expectRefused(denied)).toContain("You said no");
    await expectRefused(denied);
    const { state } = await startLink(linking.gateway, account);
    await expectRefused(`${linking.gateway.url}${callbackPath}?error=server_error&state=${state}`);
  });

  test("to a key that was revoked or has expired, or an account that was suspended, meanwhile", async () => {
    const { store } = linking.gateway;
    const expiring = await linking.gateway.openAccount({ expiresAtMs: linking.clock.wallMs() + 60_000 });
    const late = await begun(expiring);
    linking.clock.advance(60_000);
    await expectRefused(late.back);
    const gone = await linking.gateway.openAccount();
    const { back } = await begun(gone);
    await store.keys.revoke(gone.keyId, linking.clock.wallMs());
    await expectRefused(back);
    const suspended = await linking.gateway.openAccount();
    const later = await begun(suspended);
    await store.accounts.update(suspended.accountId, { suspended: true });
    await expectRefused(later.back);
  });

  test("when the platform fails, lies or redirects, and the client's secret goes nowhere else", async () => {
    const attacker = await openAttackerListener();
    const { platform } = linking;
    const troubles = [
      { status: 500, body: "oops" },
      { kind: "not-json" },
      { kind: "reset", afterWork: true },
      { kind: "redirect", status: 307, location: attacker.url },
      { status: 200, headers: { "Content-Type": "application/json" }, body: '{"access_token":"a"}' },
      {
        status: 200,
        headers: { "Content-Type": "application/json" },
        body: '{"access_token":"a","token_type":"mac"}',
      },
      { status: 401, headers: { "Content-Type": "application/json" }, body: '{"error":"invalid_client"}' },
    ] as const;
    for (const trouble of troubles) {
      const { back } = await begun();
      platform.answerNext(trouble);
      await expectRefused(back, 502);
    }
    expect(attacker.connections()).toBe(0);
    await attacker.close();
  });

  test("by other methods: they ask for a key, as every path does", async () => {
    for (const method of ["POST", "PUT", "DELETE"]) {
      const response = await fetch(linking.gateway.url + callbackPath, { method });
      flat(401, "missing_api_key")(await read(response));
    }
    const elsewhere = await fetch(`${linking.gateway.url}/apis/v1/social_b/oauth_callback`);
    flat(401, "missing_api_key")(await read(elsewhere));
  });
});
