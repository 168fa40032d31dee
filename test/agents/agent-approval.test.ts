// A person's yes before a dear call: asked for where the client can ask, by an address where it cannot, and good for
// exactly one call. Each replay here once bought twice somewhere.

import { describe, expect, test } from "bun:test";
import { errorOf, openOldClient, useTool } from "./agent-client.ts";
import { videoOrder } from "./agent-purchases.ts";
import { cheap, config, creditUsd, dear, type Handle, secretForms, useApprovals, yes } from "./approvals.ts";
import type { Store } from "../../gateway/src/store/store.ts";
import { InDoubt } from "../../gateway/src/ledger/store-errors.ts";
import { openTestGateway } from "../support/test-gateway.ts";
import { until } from "../support/until.ts";
import { signInWith } from "../sign-in/oauth-person.ts";
import { snapshotMicros, snapshotPath } from "../support/purchases.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

const { gateway, account, mcp, spent, askElsewhere, decide, askInForm, answerForm } = await useApprovals();

describe("where the client cannot ask", () => {
  test("nothing runs; the answer names operation, rate, the most it can cost and where to approve", async () => {
    const asked = await useTool(mcp, account.key, "use", dear());
    expect(asked.isError).toBe(true);
    expect(asked.structuredContent).toMatchObject({
      status: "approval_required",
      error: { code: "approval_required", charged: "no" },
      approval: { operation_ids: ["financial.metrics.snapshot"], rate_usd: 0.048, max_exposure_usd: 0.048 },
    });
    expect(await spent()).toBe(0);
  });

  test("the rate is what this very call is expected to cost, not what a usual one does", async () => {
    const call = {
      model: "claude-opus-4-5",
      max_tokens: 4_000,
      messages: [{ role: "user", content: "Tell me a story." }],
    };
    const response = await gateway.post(account, "/v1/messages", call, { "x-tollgate-cost-mode": "quote" });
    const quoted = (await response.json()) as Record<string, number>;
    const used = { operation_id: "messages.create", arguments: call, max_price_usd: 2 };
    const rate_usd = (quoted["estimated_cost_micros_usd"] ?? 0) / 1e6;
    const max_exposure_usd = (quoted["max_cost_micros_usd"] ?? 0) / 1e6;
    expect(rate_usd).toBeGreaterThan(0);
    expect(rate_usd).toBeLessThan(max_exposure_usd);
    const first = await askElsewhere(used);
    expect(first).toMatchObject({ rate_usd, max_exposure_usd });
    // The same when asked about while it waits, in a batch, and in words.
    const { approval_id } = first;
    const waiting = await useTool(mcp, account.key, "use", { ...used, approval_id });
    expect(waiting.structuredContent["approval"]).toMatchObject({ rate_usd, max_exposure_usd });
    const batch = { calls: [dear(), used] };
    expect(await askElsewhere(batch, "batch_use")).toMatchObject({
      rate_usd: Math.max(rate_usd, 0.048),
      max_exposure_usd: Math.round((max_exposure_usd + 0.048) * 1e6) / 1e6,
    });
    const { message } = await askInForm(used);
    expect(message).toContain(`expected to cost ${rate_usd} USD, at most ${max_exposure_usd} USD`);
  });

  test("the approved call runs once; the same approval a second time buys nothing", async () => {
    const { approval_id, url } = await askElsewhere();
    const waiting = await useTool(mcp, account.key, "use", { ...dear(), approval_id });
    expect(waiting.structuredContent).toMatchObject({
      status: "approval_required",
      approval: { approval_id },
    });
    await decide(url, "approve");
    const used = await useTool(mcp, account.key, "use", { ...dear(), approval_id });
    expect(used.structuredContent).toMatchObject({ status: "completed", settled_micros_usd: snapshotMicros });
    const again = await useTool(mcp, account.key, "use", { ...dear(), approval_id });
    expect(again.structuredContent).toMatchObject({
      status: "refused",
      error: { code: "approval_required", charged: "no" },
    });
    expect(await spent()).toBe(snapshotMicros);
  });

  test("whoever repeats an approved call hears of the first one, what it cost and where its receipt is", async () => {
    // The second one has not the money for a second call, which would be said first.
    for (const { key, accountId } of [account, await gateway.openAccount({ creditUsd: "0.06" })]) {
      const use = async (more: object = {}) => useTool(mcp, key, "use", { ...dear(), ...more });
      const { approval_id } = (await use()).structuredContent["approval"] as Handle;
      const decision = { id: approval_id, accountId, decision: "approved", nowMs: Date.now() } as const;
      await gateway.store.approvals.decide(decision);
      const { request_id } = (await use({ approval_id })).structuredContent;
      for (const more of [{}, { idempotency_key: crypto.randomUUID() }]) {
        const again = await use({ approval_id, ...more });
        expect(again.structuredContent).toMatchObject({
          status: "refused",
          request_id,
          error: { code: "approval_required", charged: "no", retryable: false },
        });
        expect(errorOf(again)["message"]).toBe(
          "The approval was used already; it allows one call. Nothing more was spent. This attempt was not charged. " +
            `The first one, request_id ${String(request_id)}, is settled and was charged 0.048 USD so far; ` +
            "look at its receipt (requests.get).",
        );
      }
    }
    expect(await spent()).toBe(snapshotMicros);
  });

  test("whoever repeats an approved creation of a video gets the task that there is, also in a later request of a session", async () => {
    const fox = videoOrder(1, "a fox");
    const { approval_id, url } = await askElsewhere(fox);
    await decide(url, "approve");
    const brought = { ...fox, approval_id };
    const old = await openOldClient(mcp, account.key);
    const inSession = async (): Promise<unknown> => {
      const { message } = await old.ask("tools/call", { name: "use", arguments: brought });
      return message.result?.["structuredContent"];
    };
    const first = (await useTool(mcp, account.key, "use", brought)).structuredContent;
    const sameAs = ({ task, request_id }: Readonly<Record<string, unknown>>) => {
      const { task_id } = task as { task_id: string };
      return { status: "accepted", request_id, task: { task_id } };
    };
    const again = await useTool(mcp, account.key, "use", brought);
    expect(again.structuredContent).toMatchObject(sameAs(first));
    expect([await inSession(), await inSession()]).toMatchObject([sameAs(first), sameAs(first)]);

    const owl = videoOrder(1, "an owl");
    const { state } = await askInForm(owl);
    const answered = (await answerForm(owl, state)).structuredContent;
    expect((await answerForm(owl, state)).structuredContent).toMatchObject(sameAs(answered));
    const requests = await (await gateway.call(account, "/v1/requests")).json();
    expect(requests).toMatchObject({ data: [{}, {}] });
  });

  test("a call that the store may not have taken is not told that it was its own first use", async () => {
    let holds = 0;
    const faulty = await openTestGateway({
      config,
      wrap: (parts) => {
        const { ledger } = parts.store;
        const hold: Store["ledger"]["hold"] = async (asked) => {
          const held = await ledger.hold(asked);
          if (held.kind === "held" && holds++ === 0) throw new InDoubt();
          return held;
        };
        return { ...parts, store: { ...parts.store, ledger: { ...ledger, hold } } };
      },
    });
    const { key, accountId } = await faulty.openAccount({ creditUsd });
    const use = async (more: object = {}) => useTool(`${faulty.url}/mcp`, key, "use", { ...dear(), ...more });
    const { approval_id: id } = (await use()).structuredContent["approval"] as Handle;
    await faulty.store.approvals.decide({ id, accountId, decision: "approved", nowMs: Date.now() });
    const first = await use({ approval_id: id });
    expect(first.structuredContent).toMatchObject({ status: "refused", error: { retryable: true } });
    await until(async () => (await use({ approval_id: id })).structuredContent["status"] === "completed");
    expect(await faulty.audit()).toEqual([]);
    await faulty.close();
  });

  test("twenty uses of one approval at once buy once", async () => {
    const { approval_id, url } = await askElsewhere();
    await decide(url, "approve");
    const all = await Promise.all(
      Array.from({ length: 20 }, () => useTool(mcp, account.key, "use", { ...dear(), approval_id })),
    );
    expect(all.filter(({ isError }) => isError !== true)).toHaveLength(1);
    expect(await spent()).toBe(snapshotMicros);
  });

  test("an approval allows neither other arguments nor a raised cap", async () => {
    const { approval_id, url } = await askElsewhere();
    await decide(url, "approve");
    for (const other of [
      dear("MSFT"),
      dear("AAPL", 0.2),
      { ...dear(), operation_id: "research.deep_search" },
    ]) {
      const refused = await useTool(mcp, account.key, "use", { ...other, approval_id });
      expect(refused.isError).toBe(true);
    }
    expect(await spent()).toBe(0);
    // It is still good for what it was given for, whatever the order of the members.
    const used = await useTool(mcp, account.key, "use", { approval_id, ...dear() });
    expect(used.structuredContent["status"]).toBe("completed");
    // Nor does it then speak of a key, which nobody brought.
    const late = await useTool(mcp, account.key, "use", { ...dear("MSFT"), approval_id });
    expect(errorOf(late)["message"]).toContain("There is no such approval for this call");
  });

  test("an approval of one operation allows no other that takes the same, nor the same as part of a batch", async () => {
    const given = {
      operation_id: "chat.completions.create",
      arguments: {
        model: "gpt-4o",
        messages: [{ role: "user", content: "hello" }],
        input: "hello",
        max_tokens: 10_000,
        max_output_tokens: 10_000,
      },
      max_price_usd: 0.2,
    };
    const { approval_id, url } = await askElsewhere(given);
    await decide(url, "approve");
    const elsewhere = { ...given, operation_id: "responses.create", approval_id };
    expect((await useTool(mcp, account.key, "use", elsewhere)).isError).toBe(true);
    const batch = await useTool(mcp, account.key, "batch_use", { calls: [given], approval_id });
    expect(JSON.stringify(batch.structuredContent)).not.toContain('"completed":1');
    expect(await spent()).toBe(0);
    const used = await useTool(mcp, account.key, "use", { ...given, approval_id });
    expect(used.structuredContent["status"]).toBe("completed");
  });

  test("a no is a no", async () => {
    const { approval_id, url } = await askElsewhere();
    await decide(url, "deny");
    const refused = await useTool(mcp, account.key, "use", { ...dear(), approval_id });
    expect(errorOf(refused)).toMatchObject({ code: "approval_declined", charged: "no" });
    expect(await spent()).toBe(0);
  });

  test("another account's approval does not exist, approved or not", async () => {
    const { approval_id, url } = await askElsewhere();
    await decide(url, "approve");
    const other = await gateway.openAccount({ creditUsd });
    const foreign = await useTool(mcp, other.key, "use", { ...dear(), approval_id });
    const random = await useTool(mcp, other.key, "use", {
      ...dear(),
      approval_id: `apr_${crypto.randomUUID()}`,
    });
    expect(errorOf(foreign)).toEqual(errorOf(random));
    expect((await gateway.balance(other)).balance).toBe(5_000_000);
  });

  test("one client's questions keep nobody else from asking, and the same call is one question", async () => {
    const { access_token } = await signInWith(gateway.url, account.key, { per_call_usd: "0.01" });
    const flood = async (ticker: string): Promise<Handle> => {
      const asked = await useTool(mcp, access_token, "use", dear(ticker));
      return asked.structuredContent["approval"] as Handle;
    };
    const first = await flood("A0");
    expect((await flood("A0")).approval_id).toBe(first.approval_id);
    for (let n = 1; n < 105; n++) await flood(`A${n}`);
    expect((await askElsewhere()).approval_id).toStartWith("apr_");
    // Its own oldest gave way; nobody told another key even that a question waits.
    const gone = await useTool(mcp, access_token, "use", { ...dear("A0"), approval_id: first.approval_id });
    expect(errorOf(gone)["message"]).toContain("There is no such approval");
    const { approval_id } = await flood("A104");
    const foreign = await useTool(mcp, account.key, "use", { ...dear("A104"), approval_id });
    expect(foreign.structuredContent).toMatchObject({ status: "refused" });
    expect(errorOf(foreign)["message"]).toContain("There is no such approval");
  });

  test("another key of the same account cannot use it either", async () => {
    const { approval_id, url } = await askElsewhere();
    await decide(url, "approve");
    const { access_token } = await signInWith(gateway.url, account.key, { per_call_usd: "0.01" });
    const refused = await useTool(mcp, access_token, "use", { ...dear(), approval_id });
    expect(refused.isError).toBe(true);
    expect(await spent()).toBe(0);
  });
});

describe("what covers a call", () => {
  test("a key: up to the operator's limit per call", async () => {
    expect((await useTool(mcp, account.key, "use", cheap)).structuredContent["status"]).toBe("completed");
    // The price decides, not the cap: a generous cap on a cheap call needs nobody.
    const generous = await useTool(mcp, account.key, "use", { ...cheap, max_price_usd: 100 });
    expect(generous.structuredContent["status"]).toBe("completed");
  });

  test("a token: what its person allowed per call, more or less than a key", async () => {
    const more = await signInWith(gateway.url, account.key, { per_call_usd: "0.05" });
    expect((await useTool(mcp, more.access_token, "use", dear())).structuredContent["status"]).toBe(
      "completed",
    );
    const less = await signInWith(gateway.url, account.key, { per_call_usd: "0.001" });
    const asked = await useTool(mcp, less.access_token, "use", cheap);
    expect(asked.structuredContent["status"]).toBe("approval_required");
  });

  test("HTTP with a key needs no approval: nobody there could be asked", async () => {
    const response = await gateway.call(account, snapshotPath);
    expect(response.status).toBe(200);
  });
});

test("a yes that nobody gave in time, or that came to be used too late, is none", async () => {
  const clock = createVirtualClock();
  const timed = await openTestGateway({ config, clock });
  const { key, accountId } = await timed.openAccount({ creditUsd });
  const url = `${timed.url}/mcp`;
  const ask = async (ticker: string): Promise<string> => {
    const { structuredContent } = await useTool(url, key, "use", dear(ticker));
    return (structuredContent["approval"] as Handle).approval_id;
  };
  const [unanswered, approved] = [await ask("AAPL"), await ask("MSFT")];
  await timed.store.approvals.decide({
    id: approved,
    accountId,
    decision: "approved",
    nowMs: clock.wallMs(),
  });
  clock.advance(15 * 60_000 + 1);
  for (const [approval_id, ticker] of [
    [unanswered, "AAPL"],
    [approved, "MSFT"],
  ] as const) {
    const late = await useTool(url, key, "use", { ...dear(ticker), approval_id });
    expect(errorOf(late)).toMatchObject({ code: "approval_required", charged: "no" });
  }
  expect(await timed.store.accounts.find(accountId)).toMatchObject({
    postedMicros: 5_000_000n,
    heldMicros: 0n,
  });
  await timed.close();
});

test("no approval, state or key is ever logged", async () => {
  const { approval_id, url } = await askElsewhere();
  await decide(url, "approve");
  await useTool(mcp, account.key, "use", { ...dear(), approval_id });
  const { state } = await askInForm(dear("MSFT"));
  await answerForm(dear("MSFT"), state, yes);
  expect(await spent()).toBe(2 * snapshotMicros);

  const logged = gateway.logged.join("\n");
  const { data } = (await (await gateway.call(account, "/v1/requests")).json()) as {
    data: { request_id: string }[];
  };
  expect(data.map(({ request_id: id }) => logged.includes(id))).toEqual([true, true]);
  for (const secret of [approval_id, state, account.key]) expect(logged).not.toContain(secret);
  for (const form of secretForms) expect(logged).not.toMatch(form);
});
