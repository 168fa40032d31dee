// A person's yes to a batch: asked for once, good for all of its calls or none, and for no other batch.

import { describe, expect, test } from "bun:test";
import { errorOf, useTool, type ToolResult } from "./agent-client.ts";
import { snapshotMicros, tagMicros } from "../support/purchases.ts";
import { canAsk, cheap, config, creditUsd, dear, useApprovals, yes, type Handle } from "./approvals.ts";
import { openTestGateway } from "../support/test-gateway.ts";
import { signInWith } from "../sign-in/oauth-person.ts";
import { createVirtualClock } from "../support/virtual-clock.ts";

const { gateway, account, mcp, spent, askElsewhere, decide, askInForm, answerForm } = await useApprovals();

describe("a batch", () => {
  const batch = { calls: [cheap, dear(), cheap, dear()] };

  test("asks once for all its dear calls, before any of them or of the cheap ones runs", async () => {
    const asked = await useTool(mcp, account.key, "batch_use", batch);
    expect(asked.structuredContent).toMatchObject({
      approval: {
        operation_ids: ["financial.metrics.snapshot", "financial.metrics.snapshot"],
        max_exposure_usd: 0.096,
      },
      totals: { completed: 0, not_started: 4, settled_usd: 0 },
    });
    expect(await spent()).toBe(0);
    const { approval_id, url } = asked.structuredContent["approval"] as Handle;
    await decide(url, "approve");
    const done = await useTool(mcp, account.key, "batch_use", { ...batch, approval_id });
    expect(done.structuredContent["totals"]).toMatchObject({ completed: 4 });
    expect(await spent()).toBe(2 * snapshotMicros + 2 * tagMicros);
  });

  test("is bound as a whole by the person's maximum: below what all of it may cost, none of it runs", async () => {
    const three = { calls: [dear("AAPL"), dear("MSFT"), dear("TSLA")] };
    const atMost = (max_usd: number) => ({
      approval: { action: "accept", content: { approve: true, max_usd } },
    });
    const first = await askInForm(three, "batch_use");
    const refused = await answerForm(three, first.state, atMost(0.05), "batch_use");
    expect(refused.structuredContent).toMatchObject({
      totals: { completed: 0, settled_usd: 0 },
      error: { code: "approval_declined", charged: "no" },
    });
    expect(await spent()).toBe(0);
    const second = await askInForm(three, "batch_use");
    await answerForm(three, second.state, atMost(0.144), "batch_use");
    expect(await spent()).toBe(3 * snapshotMicros);
  });

  test("that could not be paid is refused before anybody is asked, whatever stands in its way", async () => {
    const both = { calls: [dear("AAPL"), dear("MSFT"), cheap] };
    const budget = { limitMicros: 97_000n, window: "day" } as const;
    const poor = await gateway.openAccount({ creditUsd: "0.097" });
    const bounded = await gateway.openAccount({ creditUsd, budget });
    const limits = { per_call_usd: "0.01", per_day_usd: "0.097" };
    const { access_token: guest } = await signInWith(gateway.url, account.key, limits);
    for (const [key, code] of [
      [poor.key, "insufficient_balance"],
      [bounded.key, "budget_exceeded"],
      [guest, "budget_exceeded"],
    ] as const) {
      const refused = await useTool(mcp, key, "batch_use", both, canAsk);
      expect(refused.structuredContent).toMatchObject({
        totals: { completed: 0, not_started: 3, settled_usd: 0 },
        error: { code, charged: "no", retryable: false },
      });
      // Together they may cost 97,450; without the cheap one each of these can pay.
      expect(errorOf(refused)["message"]).toContain("The calls together may cost 0.09745 USD");
      const asked = await useTool(mcp, key, "batch_use", { calls: both.calls.slice(0, 2) }, canAsk);
      expect(asked.resultType).toBe("input_required");
    }
    expect(await spent()).toBe(0);
  });

  test("played back with its approval or its state it buys nothing more, not even the cheap calls", async () => {
    const { approval_id, url } = await askElsewhere(batch, "batch_use");
    await decide(url, "approve");
    await useTool(mcp, account.key, "batch_use", { ...batch, approval_id });
    const once = await spent();
    const again = await useTool(mcp, account.key, "batch_use", { ...batch, approval_id });
    expect(again.structuredContent["totals"]).toMatchObject({ completed: 0, refused: 4 });
    expect(await spent()).toBe(once);

    const { state } = await askInForm(batch, "batch_use");
    await Promise.all(Array.from({ length: 5 }, () => answerForm(batch, state, yes, "batch_use")));
    expect(await spent()).toBe(2 * once);
  });

  test("an approval of one batch allows no other", async () => {
    const { approval_id, url } = await askElsewhere(batch, "batch_use");
    await decide(url, "approve");
    const other = { calls: [dear("MSFT"), dear("MSFT")], approval_id };
    const refused = await useTool(mcp, account.key, "batch_use", other);
    expect(refused.structuredContent["totals"]).toMatchObject({ completed: 0 });
    expect(await spent()).toBe(0);
  });
});

describe("an approved batch whose approval does not do any more", () => {
  const batch = { calls: [cheap, dear()] };

  /** A gateway whose time stands, and a batch that was asked about there and allowed. */
  const openApproved = async (given: object = batch) => {
    const clock = createVirtualClock();
    const timed = await openTestGateway({ config, clock });
    const { key, accountId } = await timed.openAccount({ creditUsd });
    const run = (calls: object): Promise<ToolResult> => useTool(`${timed.url}/mcp`, key, "batch_use", calls);
    const { approval_id: id } = (await run(given)).structuredContent["approval"] as Handle;
    await timed.store.approvals.decide({ id, accountId, decision: "approved", nowMs: clock.wallMs() });
    const paid = async (): Promise<number> =>
      5_000_000 - Number((await timed.store.accounts.find(accountId))?.postedMicros);
    const raisePrices = async (): Promise<void> => {
      await timed.store.accounts.update(accountId, { planMultiplierPpm: 1_500_000n });
      // Longer than a credential is remembered.
      clock.advance(60_000);
    };
    return { timed, clock, run, approval_id: id, paid, raisePrices };
  };
  type Approved = Awaited<ReturnType<typeof openApproved>>;

  const reasons: [string, string, (approved: Approved) => Promise<object>][] = [
    [
      "because it came too late",
      "expired",
      async ({ clock }) => {
        clock.advance(15 * 60_000 + 1);
        return batch;
      },
    ],
    [
      "because a dear call asks for something else now",
      "no such approval",
      async () => ({ calls: [cheap, dear("MSFT")] }),
    ],
    [
      "because its price rose above what was allowed",
      "more than was approved",
      async ({ raisePrices }) => {
        await raisePrices();
        return batch;
      },
    ],
  ];
  test.each(reasons)("runs none of its calls, %s", async (_, why, change) => {
    const approved = await openApproved();
    const { timed, run, approval_id, paid } = approved;
    const refused = await run({ ...(await change(approved)), approval_id });
    expect(refused.isError).toBe(true);
    expect(refused.structuredContent["totals"]).toMatchObject({ not_started: 2, settled_usd: 0 });
    expect(errorOf(refused)).toMatchObject({ code: "approval_required", charged: "no", retryable: false });
    expect(errorOf(refused)["message"]).toContain(why);
    expect(await paid()).toBe(0);
    await timed.close();
  });

  test("and that ran before says that it did, however late and dear it is by now", async () => {
    const { timed, clock, run, approval_id, paid, raisePrices } = await openApproved();
    await run({ ...batch, approval_id });
    const once = await paid();
    expect(once).toBe(snapshotMicros + tagMicros);
    clock.advance(15 * 60_000 + 1);
    await raisePrices();
    const again = await run({ ...batch, approval_id });
    expect(again.structuredContent["totals"]).toMatchObject({ completed: 0, refused: 2 });
    const told = again.structuredContent["results"] as { error: { code: string; message: string } }[];
    expect(told.map(({ error }) => error.code)).toEqual(["idempotency_conflict", "idempotency_conflict"]);
    expect(told[1]?.error.message).toContain("was charged 0.048 USD");
    expect(await paid()).toBe(once);
    await timed.close();
  });

  test("and of which a part ran runs no further, and is not told to ask for all of it again", async () => {
    const stopping = { calls: [cheap, dear(), dear("MSFT")], stop_on_error: true };
    const { timed, clock, run, approval_id, paid } = await openApproved(stopping);
    await timed.sandbox.fault({ vendor: "financialdatasets", status: 404, body: "{}", times: 1 });
    const stopped = await run({ ...stopping, approval_id });
    expect(stopped.structuredContent["totals"]).toMatchObject({ completed: 1, failed: 1, not_started: 1 });
    const once = await paid();
    clock.advance(15 * 60_000 + 1);
    const late = await run({ ...stopping, approval_id });
    expect(late.structuredContent["totals"]).toMatchObject({ completed: 0, not_started: 3 });
    expect(errorOf(late)["message"]).toContain("ask again only for what is missing");
    expect(await paid()).toBe(once);
    await timed.close();
  });

  test.each([
    ["late", async ({ clock }: Approved): Promise<void> => clock.advance(15 * 60_000 + 1)],
    ["too dear", ({ raisePrices }: Approved): Promise<void> => raisePrices()],
  ])("nor is one of which only a call ran that needed no approval, when it is %s", async (_, change) => {
    const approved = await openApproved();
    const { timed, run, approval_id, paid } = approved;
    await timed.sandbox.fault({ vendor: "financialdatasets", status: 429, headers: { "retry-after": "0" } });
    const first = await run({ ...batch, approval_id });
    expect(first.structuredContent["totals"]).toMatchObject({ completed: 1, failed: 1 });
    expect(await paid()).toBe(tagMicros);
    await change(approved);
    const again = await run({ ...batch, approval_id });
    expect(again.structuredContent["totals"]).toMatchObject({ completed: 0, not_started: 2 });
    expect(errorOf(again)["message"]).toContain("ask again only for what is missing");
    expect(await paid()).toBe(tagMicros);
    await timed.close();
  });

  test("is to be asked for again when its vendor turned away all that it began", async () => {
    const alone = { calls: [dear()] };
    const { timed, clock, run, approval_id, paid } = await openApproved(alone);
    await timed.sandbox.fault({ vendor: "financialdatasets", status: 429, headers: { "retry-after": "0" } });
    expect((await run({ ...alone, approval_id })).structuredContent["totals"]).toMatchObject({ failed: 1 });
    clock.advance(15 * 60_000 + 1);
    expect(errorOf(await run({ ...alone, approval_id }))["message"]).toContain("expired; ask again");
    expect(await paid()).toBe(0);
    await timed.close();
  });
});
