// Follows in the name of a linked account: whose token leaves, what it costs, and who is told no.

import { describe, expect, test } from "bun:test";
import { useTool } from "../agents/agent-client.ts";
import { nested, read } from "../bad-inputs/error-shapes.ts";
import { headerValues } from "../doubles/http-wire.ts";
import { protectedPersonId } from "../doubles/x.ts";
import { openAttackerListener } from "../doubles/vendor-double.ts";
import { codeOf, json } from "../support/answers.ts";
import type { TestAccount } from "../support/test-gateway.ts";
import {
  did,
  expectNoTraceOf,
  followMicros,
  followPath,
  hourMs,
  inDatabase,
  lastingScopes,
  linksPath,
  openSibling,
  operatorKey,
  useLinking,
  writeScopes,
} from "./linking.ts";

const { linking, linked, receiptOf } = await useLinking();

async function limitsOf(account: TestAccount) {
  const report = await json<LimitsReport>(linking.gateway.call(account, "/v1/limits"));
  const [requests, ...limits] = report.limits;
  expect(requests?.name).toBe("requests_per_minute");
  return { requestsLeft: requests?.remaining ?? 0, others: { limits, budget: report.budget } };
}

interface LimitsReport {
  readonly limits: readonly { readonly name: string; readonly remaining: number }[];
  readonly budget: object;
}

const expectNoTrace = (act: () => Promise<void>) => expectNoTraceOf(linking, act);

describe("a follow", () => {
  test("leaves with the linked account's token and id, never the operator's key, and is charged", async () => {
    const account = await linked();
    const before = await linking.gateway.balance(account);
    const response = await linking.follow(account);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ data: { following: true, pending_follow: false } });
    expect(response.headers.get("x-tollgate-cost-micros-usd")).toBe(String(followMicros));
    const after = await linking.gateway.balance(account);
    expect([before.balance - after.balance, after.held]).toEqual([followMicros, 0]);
    const sent = linking.platform.requests.at(-1);
    expect([sent?.method, sent?.target]).toEqual(["POST", "/2/users/2244994945/following"]);
    expect(new TextDecoder().decode(sent?.body)).toBe('{"target_user_id":"6253282"}');
    expect(headerValues(sent?.headers ?? [], "authorization")[0]).toMatch(/^Bearer access-/);
    for (const { raw } of linking.platform.requests) {
      const text = new TextDecoder().decode(raw);
      expect(text.includes(operatorKey) || text.includes(account.key)).toBe(false);
    }
  });

  test("of a protected account is pending, and paid for", async () => {
    const account = await linked();
    const response = await linking.gateway.post(account, followPath, { target_user_id: protectedPersonId });
    expect(await response.json()).toEqual({ data: { following: false, pending_follow: true } });
    expect((await receiptOf(account, response)).charged_micros_usd).toBe(followMicros);
  });

  test("that the platform does not confirm costs nothing", async () => {
    const account = await linked();
    const json = { "Content-Type": "application/json" };
    const answers = [
      { status: 200, headers: json, body: '{"data":{"following":false,"pending_follow":false}}' },
      { status: 200, headers: json, body: '{"errors":[{"title":"Not Found"}]}' },
      { status: 200, headers: { "Content-Type": "text/html" }, body: "<p>following</p>" },
      { status: 400, headers: json, body: '{"title":"Invalid Request","status":400}' },
      { status: 403, headers: json, body: '{"title":"Forbidden","type":"about:blank","status":403}' },
      { status: 503, headers: json, body: '{"title":"Service Unavailable"}' },
    ] as const;
    for (const answer of answers) {
      linking.platform.answerNext(answer);
      const response = await linking.follow(account);
      // What the platform says about the person and the target is the caller's to read.
      expect([response.status, await response.text()]).toEqual([answer.status, answer.body]);
      expect((await receiptOf(account, response)).charged_micros_usd).toBe(0);
    }
  });

  test("that fails on the way costs nothing, and goes to nobody else", async () => {
    const attacker = await openAttackerListener();
    const account = await linked();
    const troubles = [
      { kind: "reset" },
      { kind: "hang" },
      { kind: "redirect", status: 308, location: attacker.url },
    ] as const;
    for (const trouble of troubles) {
      linking.platform.answerNext(trouble);
      const response = await linking.follow(account);
      expect([response.status, await codeOf(response)]).toEqual([502, "provider_request_failed"]);
      const { charged_micros_usd: charged, attempts } = await receiptOf(account, response);
      expect([charged, attempts.length]).toEqual([0, 1]);
    }
    expect(attacker.connections()).toBe(0);
    await attacker.close();
  });

  test("about which the platform blames the operator's application is 503, its words withheld", async () => {
    const account = await linked();
    const headers = { "Content-Type": "application/problem+json" };
    const type = "https://api.twitter.com/2/problems/";
    for (const [status, problem] of [
      [403, `${type}client-forbidden`],
      [403, `${type}usage-capped`],
      [402, "about:blank"],
    ] as const) {
      linking.platform.answerNext({ status, headers, body: JSON.stringify({ type: problem }) });
      const response = await linking.follow(account);
      expect([response.status, await codeOf(response)]).toEqual([503, "provider_unavailable"]);
    }
  });

  test("whose answer repeats the token is withheld", async () => {
    const account = await linked();
    const token = linking.platform.secrets().findLast((secret) => secret.startsWith("access-"));
    linking.platform.answerNext({ status: 400, body: JSON.stringify({ detail: token }) });
    const response = await linking.follow(account);
    expect(response.status).toBe(503);
    expect(await response.text()).not.toContain(token);
  });

  test("needs the digits of a user and nothing else", async () => {
    const account = await linked();
    for (const body of [
      {},
      { target_user_id: 1 },
      { target_user_id: "ada" },
      { target_user_id: "1/../2" },
      { target_user_id: "1", access_token: "x" },
      { target_user_id: "1".repeat(20) },
    ]) {
      expect((await linking.gateway.post(account, followPath, body)).status).toBe(400);
    }
  });

  test("is made once for an idempotency key", async () => {
    const account = await linked();
    const key = { "idempotency-key": "follow-1" };
    const follows = did(linking.platform, "follow");
    const first = await linking.follow(account, key);
    expect(first.status).toBe(200);
    const again = await read(linking.follow(account, key));
    expect(again).toMatchObject({
      status: 409,
      body: {
        error: { code: "request_already_completed" },
        original: { request_id: first.headers.get("x-request-id"), charged_micros_usd: followMicros },
      },
    });
    expect(did(linking.platform, "follow")).toBe(follows + 1);
  });

  test("is quoted without any link", async () => {
    const account = await linking.gateway.openAccount();
    await expectNoTrace(async () => {
      const quote = await linking.follow(account, { "x-tollgate-cost-mode": "quote" });
      expect(await quote.json()).toMatchObject({
        operation_id: "social_a.follow",
        estimate_kind: "exact",
        max_cost_micros_usd: followMicros,
      });
    });
  });
});

describe("403 and no trace", () => {
  test("without a link: link_required", async () => {
    const account = await linking.gateway.openAccount();
    await expectNoTrace(async () => nested(403, "link_required")(await read(linking.follow(account))));
  });

  test("without a scope it needs: insufficient_scope, before anything is asked of the platform", async () => {
    const account = await linked(["tweet.read", "users.read", "offline.access"]);
    linking.clock.advance(3 * hourMs);
    await expectNoTrace(async () =>
      nested(403, "insufficient_scope", { missing_scopes: ["follows.write"] })(
        await read(linking.follow(account)),
      ),
    );
  });

  test("without a scope it needs, in the words of agents: link_scope_missing, which no new sign-in helps", async () => {
    const { key } = await linked(["tweet.read", "users.read", "offline.access"]);
    const follow = { operation_id: "social_a.follow", arguments: { target_user_id: "1" }, max_price_usd: 1 };
    await expectNoTrace(async () => {
      const { structuredContent } = await useTool(`${linking.gateway.url}/mcp`, key, "use", follow);
      expect(structuredContent).toMatchObject({
        status: "refused",
        error: {
          code: "link_scope_missing",
          message:
            "The linked account did not allow follows.write; link it again with it. Nothing was charged.",
          charged: "no",
        },
      });
    });
  });

  test("when the token ended and there is none to renew it with: link_expired", async () => {
    const account = await linked();
    linking.clock.advance(2 * hourMs);
    await linking.follow(account);
    await expectNoTrace(async () => nested(403, "link_expired")(await read(linking.follow(account))));
    const { data } = await json<{ data: object[] }>(linking.gateway.call(account, linksPath));
    expect(data).toMatchObject([{ status: "expired" }]);
  });

  test("after its link was revoked: link_required", async () => {
    const account = await linked();
    const live = await linking.gateway.store.links.findLive(account.keyId, "platform");
    await linking.gateway.post(account, `${linksPath}/${live?.id}/revoke`, {});
    await expectNoTrace(async () => nested(403, "link_required")(await read(linking.follow(account))));
  });

  test("with another key of the same account: the link is the key's", async () => {
    const other = await openSibling(linking.gateway, await linked());
    await expectNoTrace(async () => nested(403, "link_required")(await read(linking.follow(other))));
  });
});

describe("several reasons at once", () => {
  test("who cannot pay hears 402 before 403: no balance, no budget, over the cap", async () => {
    const { gateway } = linking;
    const limit = { estimated_micros_usd: followMicros, retryable: false };
    const poor = await gateway.openAccount({ creditUsd: "0.009999" });
    const tight = await gateway.openAccount({ budget: { limitMicros: 9_999n, window: "day" } });
    const rich = await gateway.openAccount();
    await expectNoTrace(async () => {
      nested(402, "insufficient_balance", { ...limit, limit_micros_usd: 9_999 })(
        await read(linking.follow(poor)),
      );
      expect(await codeOf(await linking.follow(tight))).toBe("budget_exceeded");
      const capped = await linking.follow(rich, { "x-tollgate-max-price-usd": "0.009" });
      expect(await codeOf(capped)).toBe("estimated_price_exceeds_max_price");
    });
  });

  test("who asks again hears 409 before 403", async () => {
    const account = await linked();
    const key = { "idempotency-key": "again" };
    await linking.follow(account, key);
    const live = await linking.gateway.store.links.findLive(account.keyId, "platform");
    await linking.gateway.post(account, `${linksPath}/${live?.id}/revoke`, {});
    expect(await codeOf(await linking.follow(account, key))).toBe("request_already_completed");
  });

  test("a 403 does not use up an idempotency key, nor a place in any limit but that of requests", async () => {
    const account = await linking.gateway.openAccount({ budget: { limitMicros: 50_000n, window: "day" } });
    const key = { "idempotency-key": "kept" };
    const before = await limitsOf(account);
    for (let times = 0; times < 3; times++) {
      expect(await codeOf(await linking.follow(account, key))).toBe("link_required");
    }
    const after = await limitsOf(account);
    expect(after.others).toEqual(before.others);
    // The three, and the look at the limits itself.
    expect(after.requestsLeft).toBe(before.requestsLeft - 4);
    await linking.link(account, writeScopes);
    expect((await linking.follow(account, key)).status).toBe(200);
  });

  test("a wrong body is 400 before 403", async () => {
    const account = await linking.gateway.openAccount();
    expect((await linking.gateway.post(account, followPath, {})).status).toBe(400);
  });
});

test("of forty follows at once on money for three, three are made and the others are 402", async () => {
  const account = await linking.gateway.openAccount({ creditUsd: "0.039" });
  await linking.link(account, lastingScopes);
  const follows = did(linking.platform, "follow");
  const responses = await Promise.all(Array.from({ length: 40 }, () => linking.follow(account)));
  const made = responses.filter(({ status }) => status === 200);
  expect([made.length, did(linking.platform, "follow") - follows]).toEqual([3, 3]);
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200, 402]));
  expect(await linking.gateway.balance(account)).toEqual({ balance: 9_000, held: 0 });
});

describe("keys", () => {
  test("a rotated key keeps its link", async () => {
    const { gateway, clock } = linking;
    const account = await linked();
    const secretHash = new TextEncoder().encode(`rotated ${account.keyId}`);
    const nowMs = clock.wallMs();
    const rotation = { keyId: account.keyId, secretHash, last4: "abcd", nowMs };
    await gateway.store.keys.rotate({ ...rotation, graceEndsAtMs: nowMs + hourMs });
    expect((await linking.follow(account)).status).toBe(200);
  });

  test("a revoked key acts for nobody", async () => {
    const { gateway, clock } = linking;
    const account = await linked();
    await gateway.store.keys.revoke(account.keyId, clock.wallMs());
    clock.advance(5_000);
    const follows = did(linking.platform, "follow");
    expect((await linking.follow(account)).status).toBe(401);
    expect(did(linking.platform, "follow")).toBe(follows);
  });
});

test("two links whose stored tokens are swapped open for neither key", async () => {
  const [one, two] = [await linked(lastingScopes), await linked(lastingScopes)];
  const columns = ["salt", "access_token", "refresh_token", "version"];
  inDatabase(linking.gateway, (db) => {
    const rowOf = (account: TestAccount) =>
      db
        .query<Record<string, Uint8Array | number>, [string]>(
          `SELECT ${columns.join(", ")} FROM link WHERE key_id = ?1`,
        )
        .get(account.keyId);
    const [first, second] = [rowOf(one), rowOf(two)];
    const put = (account: TestAccount, row: typeof first) =>
      db.run(
        `UPDATE link SET salt = ?1, access_token = ?2, refresh_token = ?3, version = ?4 WHERE key_id = ?5`,
        [...columns.map((column) => row?.[column] ?? null), account.keyId],
      );
    put(one, second);
    put(two, first);
  });
  const asked = linking.platform.requests.length;
  for (const account of [one, two]) {
    nested(403, "link_expired")(await read(linking.follow(account)));
  }
  expect(linking.platform.requests).toHaveLength(asked);
  expect(linking.gateway.logged.join("")).toContain("a link could not be used");
});

test("the books balance after all of it", async () => {
  expect(await linking.gateway.audit()).toEqual([]);
  expect(linking.platform.violations).toEqual([]);
});
