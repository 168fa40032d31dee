// What approvals promise about money, whatever the store. Every test ends with an audit.

import { describe, expect, test } from "bun:test";
import { openApprovalsMax, type ApprovalItem } from "../../approvals/approvals.ts";
import { openGrant } from "./grants-conformance.ts";
import {
  middayMs,
  settlementOf,
  withBooks,
  type TestBooks,
  type Caller,
  type OpenStore,
} from "./shared-conformance.ts";

const dayMs = 24 * 60 * 60_000;

export function approvalsConformance(kind: string, openStore: OpenStore): void {
  const promise = (name: string, run: (books: TestBooks) => Promise<void>): void =>
    test(name, () => withBooks(openStore, run));

  describe(`${kind}: an approval`, () => {
    promise("lets one call through above what is covered, and no second one", async (books) => {
      const caller = await books.openCaller({ creditMicros: 10_000n });
      const claim = { id: await openApproval(books, caller), digest: digest("a") };
      const wanted = { amountMicros: 500n, coveredMicros: 100n };
      expect((await books.hold(caller, wanted)).kind).toBe("approval_required");
      const results = await Promise.all(
        Array.from({ length: 5 }, () => books.hold(caller, { ...wanted, approval: claim })),
      );
      expect(results.filter((result) => result.kind === "held")).toHaveLength(1);
      expect(results.filter((result) => result.kind !== "held")).toEqual(
        Array.from({ length: 4 }, () => ({ kind: "approval_required", reason: "used" })),
      );
      expect(await books.balance(caller)).toEqual({ posted: 10_000n, held: 500n });
    });

    promise(
      "stays used when its call was released, after a restart, and when the call needed none",
      async (books) => {
        const caller = await books.openCaller({ creditMicros: 10_000n });
        const claim = { id: await openApproval(books, caller), digest: digest("a") };
        const first = await books.held(caller, { approval: claim, coveredMicros: 1_000n });
        await books.release(first);
        await books.restart();
        const again = await books.hold(caller, { approval: claim, coveredMicros: 1_000n });
        expect(again).toEqual({ kind: "approval_required", reason: "used" });
      },
    );

    promise("is not used by a hold that did not come about", async (books) => {
      const caller = await books.openCaller({ creditMicros: 400n });
      const claim = { id: await openApproval(books, caller), digest: digest("a") };
      const poor = await books.hold(caller, { amountMicros: 500n, approval: claim });
      expect(poor.kind).toBe("insufficient_balance");
      await books.held(caller, { amountMicros: 400n, approval: claim });
    });

    promise(
      "belongs to the account, key and grant that asked, and to the call that was shown",
      async (books) => {
        const caller = await books.openCaller({ creditMicros: 10_000n });
        const grant = await openGrant(books, caller, 5_000n);
        const other = await openGrant(books, caller, 5_000n);
        const id = await openApproval(books, caller, { grantId: grant.id });
        const approval = { id, digest: digest("a") };
        const unknown = { kind: "approval_required", reason: "unknown" } as const;
        expect(await books.hold(await books.openCaller(), { approval })).toEqual(unknown);
        expect(await books.hold(await books.openKey(caller), { approval, grant })).toEqual(unknown);
        expect(await books.hold(caller, { approval })).toEqual(unknown);
        expect(await books.hold(caller, { approval, grant: other })).toEqual(unknown);
        expect(await books.hold(caller, { approval: { id, digest: digest("b") }, grant })).toEqual(unknown);
        expect(await books.hold(caller, { approval: { id: "none", digest: digest("a") }, grant })).toEqual(
          unknown,
        );
        expect(await books.hold(caller, { approval, grant })).toEqual({ kind: "held" });
        const { accountId } = await books.openCaller();
        expect(await books.store().approvals.find(id, accountId)).toBeUndefined();
        const decide = { id, accountId, decision: "denied", nowMs: middayMs } as const;
        expect(await books.store().approvals.decide(decide)).toBeUndefined();
      },
    );

    test.each([
      ["nobody has answered", { decision: "none" }, "undecided"],
      ["was denied", { decision: "denied" }, "denied"],
      ["has expired", { expiresAtMs: middayMs + 1, decision: "approved" }, "expired"],
      ["allows less", { items: [item("a", 99n)] }, "too_small"],
    ] as const)("that %#: %s allows nothing", (_, opening, reason) =>
      withBooks(openStore, async (books) => {
        const caller = await books.openCaller({ creditMicros: 10_000n });
        const approval = { id: await openApproval(books, caller, opening), digest: digest("a") };
        const held = await books.hold(caller, { approval, atMs: middayMs + 1 });
        expect(held).toEqual({ kind: "approval_required", reason });
        expect(await books.balance(caller)).toEqual({ posted: 10_000n, held: 0n });
      }),
    );

    promise("is decided once, in time, and allows no more than what was asked for", async (books) => {
      const caller = await books.openCaller({ creditMicros: 10_000n });
      const { accountId } = caller;
      const { approvals } = books.store();
      const items = [item("a", 100n)];
      const id = await openApproval(books, caller, { items, decision: "none" });
      const decide = (decision: "approved" | "denied", nowMs = middayMs) =>
        approvals.decide({ id, accountId, decision, nowMs });
      expect(await decide("approved", middayMs + 60_000)).toMatchObject({ decision: undefined });
      expect(await decide("approved")).toMatchObject({ decision: "approved" });
      const again = await decide("denied");
      expect(again).toMatchObject({ decision: "approved" });
      expect(again?.items[0]?.capMicros).toBe(100n);
      const approval = { id, digest: digest("a") };
      expect((await books.hold(caller, { amountMicros: 101n, approval })).kind).toBe("approval_required");
      await books.held(caller, { amountMicros: 100n, approval });
    });

    promise(
      "of a batch allows each of its calls once, equal ones as often as they were shown",
      async (books) => {
        const caller = await books.openCaller({ creditMicros: 10_000n });
        const id = await openApproval(books, caller, { items: [item("a"), item("b"), item("a")] });
        const holdOf = (text: string) => books.hold(caller, { approval: { id, digest: digest(text) } });
        expect([await holdOf("a"), await holdOf("a"), await holdOf("b")].map(({ kind: k }) => k)).toEqual([
          "held",
          "held",
          "held",
        ]);
        for (const text of ["a", "b"]) {
          expect(await holdOf(text)).toEqual({ kind: "approval_required", reason: "used" });
        }
        const found = await books.store().approvals.find(id, caller.accountId);
        expect(new Set(found?.items.map(({ callId }) => callId)).size).toBe(3);
      },
    );

    promise(
      "replayed with an idempotency key that was used tells of the earlier call and uses nothing",
      async (books) => {
        const caller = await books.openCaller({ creditMicros: 10_000n });
        const idempotency = { keyHash: digest("key"), fingerprint: digest("body") };
        await books.held(caller, { idempotency });
        const approval = { id: await openApproval(books, caller), digest: digest("a") };
        expect((await books.hold(caller, { idempotency, approval })).kind).toBe("idempotency_conflict");
        await books.held(caller, { approval });
      },
    );

    promise(
      "is used once by a hold that is repeated, with everything else that bounds it, and counts until the end",
      async (books) => {
        const budget = { limitMicros: 1_000n, window: "day" } as const;
        const caller = await books.openCaller({ creditMicros: 10_000n, budget });
        const grant = await openGrant(books, caller, 1_000n);
        const callId = books.newId("call");
        const wanted = {
          callId,
          amountMicros: 400n,
          coveredMicros: 100n,
          budget,
          grant,
          approval: { id: await openApproval(books, caller, { grantId: grant.id }), digest: digest("a") },
          idempotency: { keyHash: digest("key"), fingerprint: digest("body") },
          task: {
            id: books.newId("task"),
            expected: { units: 400 },
            deadlineAtMs: middayMs + dayMs,
            openMax: 1,
          },
        };
        const held = { spentMicros: 0n, heldMicros: 400n };
        const start = Date.UTC(2026, 9, 20);
        const expectHeldOnce = async (): Promise<void> => {
          expect(await books.balance(caller)).toEqual({ posted: 10_000n, held: 400n });
          expect(await books.store().grants.dayUse(grant.id, start)).toEqual(held);
          expect(await books.store().keys.budgetUse(caller.keyId, "day", start)).toEqual(held);
          expect(await books.store().tasks.countOpen(caller.keyId)).toBe(1);
        };
        for (let times = 0; times < 3; times++) await books.held(caller, wanted);
        // Less and less of it stands in its own way.
        const { idempotency: _, ...keyless } = wanted;
        await books.held(caller, keyless);
        await books.held(caller, { ...keyless, task: { ...wanted.task, openMax: 3 } });
        await books.held(caller, { callId, amountMicros: 400n, budget, grant });
        await books.wouldHold(caller, { ...wanted, callId: "other" });
        await expectHeldOnce();

        const { begin } = books.store().tasks;
        const at = { upstream: "vendor", upstreamTaskId: "v", state: "PENDING", attempts: [] } as const;
        await begin({ taskId: wanted.task.id, ...at, askedAtMs: middayMs, nextPollAtMs: middayMs });
        await books.restart(middayMs + dayMs / 2);
        await expectHeldOnce();
        const end = { taskId: wanted.task.id, fence: 0, state: "SUCCEEDED", report: undefined } as const;
        await books.store().ledger.settle({
          ...settlementOf(callId, { units: 150 }, { atMs: middayMs + dayMs / 2 + 1 }),
          task: { ...end, forgetAtMs: middayMs + 2 * dayMs },
        });
        expect(await books.balance(caller)).toEqual({ posted: 9_850n, held: 0n });
        const spent = { spentMicros: 150n, heldMicros: 0n };
        expect(await books.store().grants.dayUse(grant.id, start)).toEqual(spent);
        expect(await books.store().keys.budgetUse(caller.keyId, "day", start)).toEqual(spent);
      },
    );

    promise(
      "is one of its asker's bounded number of open questions, of which the oldest gives way",
      async (books) => {
        const caller = await books.openCaller();
        const { accountId } = caller;
        const { approvals } = books.store();
        const ask = (text: string, more: Opening = {}) =>
          openApproval(books, caller, { items: [item(text)], decision: "none", ...more });
        const grant = await openGrant(books, caller, 350n);
        const decided = await ask("decided", { decision: "approved" });
        const [theirs, mine] = [await ask("theirs", { grantId: grant.id }), await ask("mine")];
        for (let n = 1; n < openApprovalsMax; n++) await ask(`question ${n}`);
        expect(await approvals.find(mine, accountId)).toBeDefined();
        const newest = await ask("one more");
        expect(await approvals.find(mine, accountId)).toBeUndefined();
        for (const id of [decided, theirs, newest]) expect(await approvals.find(id, accountId)).toBeDefined();
      },
    );

    promise(
      "that is asked for again while it waits is the same question, for its asker alone",
      async (books) => {
        const caller = await books.openCaller();
        const { accountId, keyId } = caller;
        const grant = await openGrant(books, caller, 350n);
        const { approvals } = books.store();
        const ask = async (
          items: readonly ApprovalItem[],
          more: { grantId?: string; atMs?: number } = {},
        ) => {
          const { grantId, atMs: createdAtMs = middayMs } = more;
          const expiresAtMs = createdAtMs + 60_000;
          const id = books.newId("approval");
          return approvals.open({
            id,
            accountId,
            keyId,
            grantId,
            asker: "x",
            items,
            createdAtMs,
            expiresAtMs,
          });
        };
        const first = await ask([item("a"), item("b")]);
        const again = await ask([item("a"), item("b")], { atMs: middayMs + 50_000 });
        expect(again).toEqual({ ...first, expiresAtMs: middayMs + 110_000 });
        const others = [
          await ask([item("a")]),
          await ask([item("b"), item("a")]),
          await ask([item("a"), item("b", 501n)]),
          await ask([item("a"), item("b")], { grantId: grant.id }),
        ];
        expect(new Set([first, ...others].map(({ id }) => id)).size).toBe(5);
        await approvals.decide({ id: first.id, accountId, decision: "approved", nowMs: middayMs });
        const anew = await ask([item("a"), item("b")]);
        expect(anew.id).not.toBe(first.id);
        const late = await ask([item("a"), item("b")], { atMs: middayMs + 60_000 });
        expect(late.id).not.toBe(anew.id);
      },
    );

    promise(
      "that many ask for at once is one question, and has one answer whoever gives it",
      async (books) => {
        const caller = await books.openCaller();
        const { accountId, keyId } = caller;
        const { approvals } = books.store();
        const question = { accountId, keyId, grantId: undefined, asker: "x", items: [item("a"), item("b")] };
        const many = Array.from({ length: 8 }, (_, at) => at);
        const asked = await Promise.all(
          many.map(() =>
            approvals.open({
              ...question,
              id: books.newId("approval"),
              createdAtMs: middayMs,
              expiresAtMs: middayMs + 60_000,
            }),
          ),
        );
        const [id = "", ...others] = new Set(asked.map((approval) => approval.id));
        expect(others).toEqual([]);
        const answers = await Promise.all(
          many.map((at) => {
            const decision = at % 2 === 0 ? "approved" : "denied";
            return approvals.decide({ id, accountId, decision, nowMs: middayMs + at });
          }),
        );
        const stands = await approvals.find(id, accountId);
        expect(answers).toEqual(many.map(() => stands));
      },
    );

    promise("is one of a bounded number also when all are asked for at once", async (books) => {
      const caller = await books.openCaller();
      const texts = Array.from({ length: openApprovalsMax + 10 }, (_, at) => `question ${at}`);
      const ids = await Promise.all(
        texts.map((text) => openApproval(books, caller, { items: [item(text)], decision: "none" })),
      );
      const found = await Promise.all(ids.map((id) => books.store().approvals.find(id, caller.accountId)));
      expect(found.filter((approval) => approval !== undefined)).toHaveLength(openApprovalsMax);
    });

    promise(
      "that was used is forgotten a day after its time, and lets nothing through then",
      async (books) => {
        const caller = await books.openCaller({ creditMicros: 10_000n });
        const id = await openApproval(books, caller);
        const approval = { id, digest: digest("a") };
        const atMs = middayMs + 2 * dayMs;
        const used = await books.held(caller, { approval });
        const { approvals } = books.store();
        const question = { accountId: caller.accountId, keyId: caller.keyId, grantId: undefined, asker: "x" };
        const ask = (createdAtMs: number) =>
          approvals.open({
            ...question,
            id: books.newId("approval"),
            items: [item("a")],
            createdAtMs,
            expiresAtMs: createdAtMs + 60_000,
          });
        await ask(middayMs + 60_000 + dayMs);
        expect(await approvals.find(id, caller.accountId)).toMatchObject({ items: [{ callId: used }] });
        await ask(atMs);
        expect(await approvals.find(id, caller.accountId)).toBeUndefined();
        expect(await books.hold(caller, { approval, atMs })).toEqual({
          kind: "approval_required",
          reason: "unknown",
        });
      },
    );
  });
}

interface Opening {
  readonly items?: readonly ApprovalItem[];
  readonly grantId?: string;
  readonly decision?: "approved" | "denied" | "none";
  readonly expiresAtMs?: number;
}

export async function openApproval(books: TestBooks, caller: Caller, opening: Opening = {}): Promise<string> {
  const { items = [item("a")], grantId, decision = "approved", expiresAtMs = middayMs + 60_000 } = opening;
  const id = books.newId("approval");
  const { accountId, keyId } = caller;
  const { approvals } = books.store();
  await approvals.open({
    id,
    accountId,
    keyId,
    grantId,
    asker: "x",
    items,
    createdAtMs: middayMs,
    expiresAtMs,
  });
  if (decision !== "none") await approvals.decide({ id, accountId, decision, nowMs: middayMs });
  return id;
}

export const digest = (text: string): Uint8Array => new Uint8Array(Buffer.from(text.padEnd(32, ".")));

function item(text: string, capMicros = 500n): ApprovalItem {
  return {
    operationId: "conformance.sold",
    digest: digest(text),
    capMicros,
    expectedMicros: 1n,
    summary: text,
    arguments: text,
    argumentsCut: false,
  };
}
