// What several processes on one Postgres promise together. Every test ends with an audit of the books they made.

import { describe, expect, test } from "bun:test";
import {
  countKinds,
  createRandom,
  withNodes,
  type TestNodes,
} from "../../../../test/services/postgres-nodes.ts";
import { callKind, earlierIn, keyedKinds } from "../../store/test-keyed-requests.ts";
import { digest, openApproval } from "../../ledger/conformance/approvals-conformance.ts";
import { openGrant } from "../../ledger/conformance/grants-conformance.ts";
import type { HoldResult, Resolved } from "../../ledger/ledger.ts";
import { claimOf, middayMs, useOf, type Caller } from "../../ledger/conformance/shared-conformance.ts";

const dayMs = 24 * 60 * 60_000;
const dayStartMs = Date.UTC(2026, 9, 20);
type HoldOptions = Parameters<TestNodes["nodes"][number]["hold"]>[1];

/** As many holds as fast as callers can ask, at one node after the other: more at each of them than any bound lets through. */
const holdAtAll = ({ node }: TestNodes, caller: Caller, count: number, hold: (n: number) => HoldOptions) =>
  Promise.all(Array.from({ length: count }, (_, n) => node(n).hold(caller, hold(n))));

describe("of holds that come to three nodes at once", () => {
  const promise = (name: string, run: (nodes: TestNodes) => Promise<void>): void =>
    test(name, () => withNodes({ count: 3 }, run));

  promise("exactly as many are held as the account has money for", async (nodes) => {
    const caller = await nodes.node(0).openCaller({ creditMicros: 5_050n });
    const results = await holdAtAll(nodes, caller, 300, () => ({}));
    expect(countKinds(results)).toEqual({ held: 50, insufficient_balance: 250 });
    expect(await nodes.node(1).balance(caller)).toEqual({ posted: 5_050n, held: 5_000n });
  });

  promise("exactly as many are held as the key's budget allows, with keys beside it", async (nodes) => {
    const caller = await nodes.node(0).openCaller({ budget: { limitMicros: 5_099n, window: "month" } });
    const beside = await nodes.node(0).openKey(caller);
    const [results, others] = await Promise.all([
      holdAtAll(nodes, caller, 300, (n) => ({ atMs: middayMs + (n % 5) * dayMs })),
      holdAtAll(nodes, beside, 60, () => ({})),
    ]);
    expect(countKinds(results)).toEqual({ held: 50, budget_exceeded: 250 });
    expect(countKinds(others)).toEqual({ held: 60 });
    expect(await useOf(nodes.node(2), caller, "month", middayMs)).toEqual({
      spentMicros: 0n,
      heldMicros: 5_000n,
    });
  });

  promise("each counts once in the budget that its key is given meanwhile", async (nodes) => {
    const first = await nodes.node(0).openCaller();
    const others = Array.from({ length: 23 }, () => nodes.node(0).openKey(first));
    const callers = [first, ...(await Promise.all(others))];
    const callAt = async (n: number, caller: Caller): Promise<void> => {
      const callId = await nodes.node(n).held(caller);
      if (n % 3 > 0) await nodes.node(n + 1).settle(callId, { units: 10 });
    };
    const callAtAll = (): Promise<unknown> =>
      Promise.all(Array.from({ length: 6 }, (_, n) => callers.map((caller) => callAt(n, caller))).flat());
    await callAtAll();
    const budget = { limitMicros: 1_000_000n, window: "total" } as const;
    const without = callers.map(({ keyId }) => keyId);
    const giveBudgets = async (): Promise<void> => {
      for (let keyId = without.at(-1); keyId !== undefined; keyId = without.at(-1)) {
        await nodes.node(1).store().keys.update(keyId, { budget });
        without.pop();
      }
    };
    const giving = giveBudgets();
    let rounds = 2;
    for (; without.length > 0; rounds++) await callAtAll();
    await giving;
    await callAtAll();
    for (const caller of callers)
      expect(await useOf(nodes.node(2), caller, "total", middayMs)).toEqual({
        spentMicros: BigInt(rounds) * 40n,
        heldMicros: BigInt(rounds) * 200n,
      });
  });

  promise("exactly as many are held as the day of a grant allows", async (nodes) => {
    const caller = await nodes.node(0).openCaller();
    const grant = await openGrant(nodes.node(0), caller, 5_000n);
    const results = await holdAtAll(nodes, caller, 300, () => ({ grant }));
    expect(countKinds(results)).toEqual({ held: 50, grant_day_exceeded: 250 });
    expect(await nodes.node(1).store().grants.dayUse(grant.id, dayStartMs)).toEqual({
      spentMicros: 0n,
      heldMicros: 5_000n,
    });
  });

  promise("exactly as many begin a task as the key may have open", async (nodes) => {
    const caller = await nodes.node(0).openCaller();
    const results = await holdAtAll(nodes, caller, 90, (n) => ({
      task: { id: `task_${n}`, expected: { units: 100 }, deadlineAtMs: middayMs + dayMs, openMax: 3 },
    }));
    expect(countKinds(results)).toEqual({ held: 3, too_many_tasks: 87 });
    expect(await nodes.node(1).store().tasks.countOpen(caller.keyId)).toBe(3);
  });

  promise("one has the idempotency key, and all others hear of that one", async (nodes) => {
    const caller = await nodes.node(0).openCaller();
    const results = await holdAtAll(nodes, caller, 90, (n) => ({
      callId: `call_${n}`,
      idempotency: claimOf("k"),
    }));
    expect(countKinds(results)).toEqual({ held: 1, idempotency_conflict: 89 });
    const heldId = `call_${results.findIndex(({ kind }) => kind === "held")}`;
    for (const result of results)
      if (result.kind === "idempotency_conflict") expect(result.earlier.callId).toBe(heldId);
    expect(await nodes.node(2).balance(caller)).toEqual({ posted: 1_000_000n, held: 100n });
  });

  promise(
    "one has the idempotency key, whatever it is for, and all others hear of that one",
    async (nodes) => {
      for (let round = 0; round < 10; round++) {
        const caller = await nodes.node(0).openCaller();
        const answers = await Promise.all(
          Array.from({ length: 27 }, async (_, n) => {
            const kind = keyedKinds[Math.floor(n / 3) % keyedKinds.length] ?? callKind;
            const request = { id: `${round} ${n}`, claim: claimOf("k", kind.name) };
            return { id: request.id, earlier: earlierIn(await kind.ask(nodes.node(n), caller, request)) };
          }),
        );
        const [came, ...more] = answers.filter(({ earlier }) => earlier === undefined);
        expect(more).toEqual([]);
        const told = answers.flatMap(({ earlier }) => earlier?.callId ?? []);
        expect(told).toEqual(Array.from({ length: 26 }, () => came?.id ?? ""));
      }
    },
  );

  promise("one uses up an approval, and all others hear that it is used", async (nodes) => {
    const caller = await nodes.node(0).openCaller();
    const approval = { id: await openApproval(nodes.node(0), caller), digest: digest("a") };
    const results = await holdAtAll(nodes, caller, 90, () => ({ approval, coveredMicros: 1n }));
    expect(countKinds(results)).toEqual({ held: 1, approval_required: 89 });
    for (const result of results) if (result.kind === "approval_required") expect(result.reason).toBe("used");
  });
});

test("a call that several nodes end at once ends once, and all of them hear how", () =>
  withNodes({ count: 3 }, async ({ node }) => {
    const caller = await node(0).openCaller();
    const callIds = await Promise.all(Array.from({ length: 100 }, (_, n) => node(n).held(caller)));
    const ends = await Promise.all(
      callIds.map((callId) =>
        Promise.all([
          node(0).settle(callId, { units: 30 }),
          node(1).release(callId),
          node(2).settle(callId, { units: 50 }),
          node(1).settle(callId, { units: 70 }),
        ]),
      ),
    );
    let chargedMicros = 0n;
    for (const told of ends) {
      const [first, ...others] = told.toSorted((a, b) => Number(b.first) - Number(a.first));
      expect(first?.first).toBe(true);
      for (const other of others) expect(other).toEqual({ ...first, first: false } as Resolved);
      chargedMicros += first?.chargedMicros ?? 0n;
    }
    expect(await node(1).balance(caller)).toEqual({ posted: 1_000_000n - chargedMicros, held: 0n });
  }));

test("whoever was told of a suspension or a revocation sees no hold after it, at any node", () =>
  withNodes({ count: 3 }, async (nodes) => {
    const { node } = nodes;
    for (let round = 0; round < 5; round++) {
      const caller = await node(0).openCaller();
      const grant = await openGrant(node(0), caller, 1_000_000n);
      let [suspended, revoked] = [false, false];
      const ask = async (n: number): Promise<void> => {
        const knew = { suspended, revoked };
        const [any, granted] = await Promise.all([node(n).hold(caller), node(n + 1).hold(caller, { grant })]);
        if (knew.suspended) expect(any.kind).toBe("account_suspended");
        if (knew.revoked) expect(granted.kind).toBe("grant_ended");
      };
      const asking = Promise.all(
        Array.from({ length: 12 }, async (_, n) => {
          for (let times = 0; times < 15; times++) await ask(n);
        }),
      );
      await node(1).store().grants.revoke(grant.id, middayMs);
      revoked = true;
      await Bun.sleep(10);
      await node(2).store().accounts.update(caller.accountId, { suspended: true });
      suspended = true;
      await asking;
    }
  }));

const refusals: readonly HoldResult["kind"][] = [
  "insufficient_balance",
  "budget_exceeded",
  "account_suspended",
  "grant_ended",
  "grant_day_exceeded",
  "idempotency_conflict",
  "too_many_tasks",
];

test("no random history of three nodes fails, or leaves books that do not add up", async () => {
  const seed = Number(process.env["TOLLGATE_PROPERTY_SEED"] ?? crypto.getRandomValues(new Uint32Array(1))[0]);
  process.stderr.write(`nodes: TOLLGATE_PROPERTY_SEED=${seed}\n`);
  for (let history = 0; history < 3; history++)
    await withNodes({ count: 3 }, (nodes) => live(nodes, createRandom(seed + history)));
});

/** Callers that do what comes to their minds, at whichever node, several accounts to a transaction. */
async function live({ node, nodes }: TestNodes, random: (below: number) => number): Promise<void> {
  const callers: Caller[] = [];
  const grants: { readonly id: string; readonly perDayMicros: bigint }[][] = [];
  for (let n = 0; n < 4; n++) {
    const plain = await node(n).openCaller({ creditMicros: 4_000n });
    callers.push(plain, await node(n).openKey(plain, { budget: { limitMicros: 1_500n, window: "day" } }));
    grants.push(await Promise.all([openGrant(node(n), plain, 900n), openGrant(node(n), plain, 900n)]));
  }
  const held: string[] = [];
  const begins = new Set<string>();
  const firsts = new Map<string, number>();
  const ended = (callId: string, { first }: Resolved): void =>
    void firsts.set(callId, (firsts.get(callId) ?? 0) + Number(first));

  const holdSomething = async (): Promise<void> => {
    const pick = random(callers.length);
    const caller = callers[pick];
    if (!caller) throw new Error("There are no callers.");
    const grant = pick % 2 === 0 && random(3) === 0 ? grants[pick / 2]?.[random(2)] : undefined;
    const callId = nodes[0]?.newId("call") ?? "";
    if (random(8) === 0) begins.add(callId);
    const result = await node(random(3)).hold(caller, {
      callId,
      amountMicros: BigInt(random(300)),
      atMs: middayMs + random(3) * dayMs,
      ...(grant ? { grant } : {}),
      ...(random(4) === 0 ? { idempotency: claimOf(`k${random(20)}`) } : {}),
      ...(begins.has(callId)
        ? {
            task: {
              id: `task_${callId}`,
              expected: { units: 1 },
              deadlineAtMs: middayMs + 9 * dayMs,
              openMax: 3,
            },
          }
        : {}),
    });
    if (result.kind === "held") held.push(callId);
    else expect(refusals).toContain(result.kind);
  };
  const endSomething = async (): Promise<void> => {
    const callId = held[random(held.length || 1)];
    if (callId === undefined) return;
    const at = node(random(3));
    // A task that nobody began can only be abandoned.
    if (!begins.has(callId) && random(3) > 0)
      ended(callId, await at.settle(callId, { units: random(300), output_tokens: random(99) }));
    else ended(callId, await at.store().ledger.release({ ...abandoned(callId), abandonsTask: true }));
  };
  const step = async (): Promise<unknown> => {
    const accounts = node(random(3)).store().accounts;
    const accountId = callers[random(callers.length)]?.accountId ?? "";
    const what = random(40);
    if (what < 18) return holdSomething();
    if (what < 34) return endSomething();
    if (what < 36)
      return accounts.topUp({ transferId: `t${random(12)}`, accountId, amountMicros: 500n, nowMs: middayMs });
    if (what === 36)
      return accounts.adjust({
        transferId: `a${random(9)}`,
        accountId,
        amountMicros: -300n,
        nowMs: middayMs,
        reason: "r",
      });
    if (what < 39) return accounts.update(accountId, { suspended: random(2) === 0 });
    const grant = grants[random(grants.length)]?.[random(2)];
    return random(5) === 0 && grant && node(random(3)).store().grants.revoke(grant.id, middayMs);
  };
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (let steps = 0; steps < 60; steps++) await step();
    }),
  );
  expect(held.length).toBeGreaterThan(50);
  const endLeft = async (callId: string, n: number): Promise<void> =>
    ended(
      callId,
      await node(n)
        .store()
        .ledger.release({ ...abandoned(callId), abandonsTask: true }),
    );
  await Promise.all(held.map(endLeft));
  expect([...firsts.values()].filter((times) => times !== 1)).toEqual([]);
  for (const caller of callers) expect((await node(0).balance(caller)).held).toBe(0n);
}

const abandoned = (callId: string) =>
  ({ callId, outcome: "failed", httpStatus: 500, attempts: [], settledAtMs: middayMs + 1_000 }) as const;
