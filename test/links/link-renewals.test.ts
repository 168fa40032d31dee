// The tokens of a link are renewed when they end: once, stored before they are used, and never at the cost of the link.

import { describe, expect, test } from "bun:test";
import { InDoubt } from "../../gateway/src/ledger/store-errors.ts";
import { nested, read } from "../bad-inputs/error-shapes.ts";
import { readBooks } from "../bad-inputs/nothing-happened.ts";
import { codeOf } from "../support/answers.ts";
import { until } from "../support/until.ts";
import {
  did,
  expectNoTraceOf,
  followMicros,
  hourMs,
  inDatabase,
  lastingScopes,
  linksPath,
  openLinking,
  useLinking,
  writeScopes,
} from "./linking.ts";

const { linking, linked, receiptOf } = await useLinking();
const expectNoTrace = (act: () => Promise<void>) => expectNoTraceOf(linking, act);

describe("a token that ended is renewed", () => {
  test("once for fifty calls at once, and every one of them is made and charged", async () => {
    const account = await linked(lastingScopes);
    linking.clock.advance(2 * hourMs);
    linking.platform.expire();
    const [refreshes, follows] = [did(linking.platform, "refresh_token"), did(linking.platform, "follow")];
    const before = await linking.gateway.balance(account);
    const statuses = await Promise.all(
      Array.from({ length: 50 }, async () => (await linking.follow(account)).status),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(did(linking.platform, "refresh_token") - refreshes).toBe(1);
    expect(did(linking.platform, "follow") - follows).toBe(50);
    const after = await linking.gateway.balance(account);
    expect(before.balance - after.balance).toBe(50 * followMicros);
  });

  test("once for fifty calls at once when the platform itself says that it ended", async () => {
    const account = await linked(lastingScopes);
    linking.platform.expire();
    const [refreshes, follows] = [did(linking.platform, "refresh_token"), did(linking.platform, "follow")];
    const responses = await Promise.all(Array.from({ length: 50 }, () => linking.follow(account)));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    expect(did(linking.platform, "refresh_token") - refreshes).toBe(1);
    expect(did(linking.platform, "follow") - follows).toBe(50);
    const [first] = responses;
    const receipt = first && (await receiptOf(account, first));
    expect(receipt).toMatchObject({ status: "settled", charged_micros_usd: followMicros });
    expect(receipt?.attempts.map(({ outcome }) => outcome)).toEqual(["link_rejected", "answered"]);
  });

  test("and what was sent with either token counts against the platform's quota", async () => {
    const bounded = await openLinking("    quota_rpm: 2\nlinks: { offline_access: false }");
    const account = await bounded.gateway.openAccount();
    await bounded.link(account, lastingScopes);
    bounded.platform.expire();
    expect((await bounded.follow(account)).status).toBe(200);
    expect(await codeOf(await bounded.follow(account))).toBe("upstream_rate_limit");
    await bounded.close();
  });

  test("and does not end its link, which is listed as expired where nothing can renew it", async () => {
    const accounts = [await linked(lastingScopes), await linked(writeScopes)];
    const listed = async (): Promise<string[]> => {
      const lists = accounts.map(async (account) => (await linking.gateway.call(account, linksPath)).json());
      const links = (await Promise.all(lists)).flatMap(
        (list) => (list as { data: { status: string }[] }).data,
      );
      return links.map(({ status }) => status);
    };
    expect(await listed()).toEqual(["active", "active"]);
    linking.clock.advance(2 * hourMs);
    expect(await listed()).toEqual(["active", "expired"]);
  });

  test("again and again, each time with the token of before", async () => {
    const account = await linked(lastingScopes);
    const refreshes = did(linking.platform, "refresh_token");
    for (let times = 1; times <= 3; times++) {
      linking.clock.advance(2 * hourMs);
      linking.platform.expire();
      expect((await linking.follow(account)).status).toBe(200);
      expect(did(linking.platform, "refresh_token") - refreshes).toBe(times);
    }
  });

  test("and stored before it is used: a process that dies right after loses nothing", async () => {
    const account = await linked(lastingScopes);
    linking.platform.expire();
    linking.platform.answerNext({ kind: "handler" });
    linking.platform.answerNext({ kind: "handler" });
    linking.platform.answerNext({ kind: "hang" });
    const asked = linking.platform.requests.length;
    const waiting = linking.follow(account);
    const version = (): number =>
      inDatabase(linking.gateway, (db) => {
        const row = db
          .query<{ version: number }, [string]>("SELECT version FROM link WHERE key_id = ?1")
          .get(account.keyId);
        return row?.version ?? 0;
      });
    // Refused with the old token, renewed, and asked again with the new one.
    await until(() => linking.platform.requests.length === asked + 3);
    expect(version()).toBe(2);
    await waiting;
  });

  test("before it ends, when it would end while the call is under way", async () => {
    const account = await linked(lastingScopes);
    const refreshes = did(linking.platform, "refresh_token");
    linking.clock.advance(2 * hourMs - 31_000);
    expect((await linking.follow(account)).status).toBe(200);
    expect(did(linking.platform, "refresh_token")).toBe(refreshes);
    linking.clock.advance(1_000);
    expect((await linking.follow(account)).status).toBe(200);
    expect(did(linking.platform, "refresh_token") - refreshes).toBe(1);
  });

  test("no more when the platform refuses: link_expired, at once and from then on without asking", async () => {
    const account = await linked(lastingScopes);
    linking.clock.advance(2 * hourMs);
    linking.platform.expire("all");
    const { rows } = await readBooks(linking.gateway.data);
    nested(403, "link_expired")(await read(linking.follow(account)));
    expect((await readBooks(linking.gateway.data)).rows).toEqual(rows);
    await expectNoTrace(async () => nested(403, "link_expired")(await read(linking.follow(account))));
  });

  test("later when the platform cannot be reached: 502 as for any call, nothing held, and the link lives", async () => {
    const account = await linked(lastingScopes);
    linking.clock.advance(2 * hourMs);
    linking.platform.expire();
    for (const trouble of [{ kind: "reset" }, { kind: "close" }, { kind: "garbage" }] as const) {
      linking.platform.answerNext(trouble);
      const before = await linking.gateway.balance(account);
      const away = await linking.follow(account, { "idempotency-key": "away" });
      expect([away.status, await away.json()]).toMatchObject([
        502,
        { error: "provider request failed", code: "provider_request_failed" },
      ]);
      // Nothing of the call itself was sent.
      expect(away.headers.get("x-should-retry")).toBe("true");
      expect(away.headers.get("retry-after")).toBe("1");
      expect(await linking.gateway.balance(account)).toEqual(before);
    }
    expect((await linking.follow(account, { "idempotency-key": "away" })).status).toBe(200);
  });

  test("later when the platform cannot be asked: 503, nothing held, and the link lives", async () => {
    const account = await linked(lastingScopes);
    linking.clock.advance(2 * hourMs);
    linking.platform.expire();
    linking.platform.answerNext({ status: 503 });
    const before = await linking.gateway.balance(account);
    const away = await linking.follow(account);
    expect([away.status, await codeOf(away)]).toEqual([503, "provider_unavailable"]);
    expect(away.headers.get("retry-after")).toBe("1");
    expect(await linking.gateway.balance(account)).toEqual({ ...before, held: 0 });
    expect((await linking.follow(account)).status).toBe(200);
  });

  test("later when the platform is asked too often, or for a reason of its own: 503, and the link lives", async () => {
    const account = await linked(lastingScopes);
    linking.clock.advance(2 * hourMs);
    linking.platform.expire();
    for (const [status, error] of [
      [429, "rate_limited"],
      [429, "slow_down"],
      [408, "request_timeout"],
      [403, "forbidden"],
    ] as const) {
      const headers = { "Content-Type": "application/json" };
      linking.platform.answerNext({ status, headers, body: JSON.stringify({ error }) });
      const away = await linking.follow(account);
      expect([away.status, await codeOf(away)]).toEqual([503, "provider_unavailable"]);
    }
    expect((await linking.follow(account)).status).toBe(200);
  });
});

describe("a platform that does not accept the token", () => {
  test("and has no other for it ends the link: 403, nothing charged, and the idempotency key is free", async () => {
    const account = await linked();
    linking.platform.expire();
    const key = { "idempotency-key": "rejected" };
    const before = await linking.gateway.balance(account);
    nested(403, "link_expired")(await read(linking.follow(account, key)));
    expect(await linking.gateway.balance(account)).toEqual(before);
    await expectNoTrace(async () => nested(403, "link_expired")(await read(linking.follow(account))));
    await linking.link(account, writeScopes);
    expect((await linking.follow(account, key)).status).toBe(200);
  });

  test("nor a new one gets no third chance", async () => {
    const account = await linked(lastingScopes);
    const unauthorized = { status: 401, body: "{}" } as const;
    linking.platform.answerNext(unauthorized);
    linking.platform.answerNext({ kind: "handler" });
    linking.platform.answerNext(unauthorized);
    const [refreshes, follows] = [did(linking.platform, "refresh_token"), did(linking.platform, "follow")];
    const response = await linking.follow(account);
    expect(await codeOf(response)).toBe("link_expired");
    expect(did(linking.platform, "refresh_token") - refreshes).toBe(1);
    expect(did(linking.platform, "follow")).toBe(follows);
    expect((await receiptOf(account, response)).attempts).toHaveLength(2);
  });
});

test("where a platform gives no new refresh token the old one is kept, and renews again and again", async () => {
  const own = await openLinking("", { keepsRefreshTokens: true });
  try {
    const account = await own.gateway.openAccount();
    await own.link(account, lastingScopes);
    for (let times = 1; times <= 3; times++) {
      own.clock.advance(2 * hourMs);
      own.platform.expire();
      expect((await own.follow(account)).status).toBe(200);
      expect(did(own.platform, "refresh_token")).toBe(times);
    }
  } finally {
    await own.close();
  }
});

test("what a platform gives for a link that somebody ended meanwhile ends at the platform, too", async () => {
  const own = await openLinking("", {
    wrap: (parts) => {
      const { links } = parts.store;
      const replaceTokens: typeof links.replaceTokens = async (linkId, tokens, scopes) => {
        await links.revoke(linkId, parts.clock.wallMs());
        return links.replaceTokens(linkId, tokens, scopes);
      };
      return { ...parts, store: { ...parts.store, links: { ...links, replaceTokens } } };
    },
  });
  try {
    const account = await own.gateway.openAccount();
    await own.link(account, lastingScopes);
    own.clock.advance(2 * hourMs);
    own.platform.expire();
    const refused = await own.follow(account);
    expect([refused.status, await codeOf(refused)]).toEqual([403, "link_required"]);
    // The refresh token and the access token, which would work for another two hours.
    expect([did(own.platform, "refresh_token"), did(own.platform, "revoke")]).toEqual([1, 2]);
    expect(did(own.platform, "follow")).toBe(0);
    expect(own.platform.liveTokens()).toBe(0);
  } finally {
    await own.close();
  }
});

test("a process whose claim ran out uses what another one stored, and ends nothing at the platform", async () => {
  const slow = await openLinking("", {
    wrap: (parts) => {
      const { links } = parts.store;
      const replaceTokens: typeof links.replaceTokens = async (...given) => {
        await links.replaceTokens(...given);
        return links.replaceTokens(...given);
      };
      return { ...parts, store: { ...parts.store, links: { ...links, replaceTokens } } };
    },
  });
  try {
    const account = await slow.gateway.openAccount();
    await slow.link(account, lastingScopes);
    slow.clock.advance(2 * hourMs);
    slow.platform.expire();
    expect((await slow.follow(account)).status).toBe(200);
    expect([did(slow.platform, "refresh_token"), did(slow.platform, "revoke")]).toEqual([1, 0]);
  } finally {
    await slow.close();
  }
});

test("a renewal that may have been written, or not, sends nobody to link again, and is there with the next call", async () => {
  let isInDoubt = true;
  const doubtful = await openLinking("", {
    wrap: (parts) => {
      const { links } = parts.store;
      const replaceTokens: typeof links.replaceTokens = async (...given) => {
        const replaced = await links.replaceTokens(...given);
        if (!isInDoubt) return replaced;
        isInDoubt = false;
        throw new InDoubt();
      };
      return { ...parts, store: { ...parts.store, links: { ...links, replaceTokens } } };
    },
  });
  try {
    const account = await doubtful.gateway.openAccount();
    await doubtful.link(account, lastingScopes);
    doubtful.clock.advance(3 * hourMs);
    const refused = await doubtful.follow(account);
    expect(refused.status).toBe(503);
    expect(await codeOf(refused)).toBe("provider_unavailable");
    expect((await doubtful.follow(account)).status).toBe(200);
    expect(did(doubtful.platform, "refresh_token")).toBe(1);
    expect(await doubtful.gateway.audit()).toEqual([]);
  } finally {
    await doubtful.close();
  }
});

test("the books balance after all of it", async () => {
  expect(await linking.gateway.audit()).toEqual([]);
  expect(linking.platform.violations).toEqual([]);
});
