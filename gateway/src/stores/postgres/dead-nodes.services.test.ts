// What the Postgres ledger promises when connections break, and when processes die or are taken for dead. Every test ends with
// an audit of the books.

import { afterAll, describe, expect, test } from "bun:test";
import { digest, openApproval } from "../../ledger/conformance/approvals-conformance.ts";
import { openCable, type Cable } from "../../../../test/services/cable.ts";
import { openTestDatabase } from "../../../../test/services/postgres.ts";
import { openNode, waitUntil, withNodes } from "../../../../test/services/postgres-nodes.ts";
import { InDoubt } from "../../ledger/store-errors.ts";
import {
  claimOf,
  middayMs,
  releaseOf,
  type Caller,
  type TestBooks,
} from "../../ledger/conformance/shared-conformance.ts";
import type { TestDatabase } from "../../../../test/services/postgres.ts";
import { openDatabase } from "./server/database.ts";
import { createRuns } from "./ledger/runs.ts";
import { countEndedRuns, countRows, inDatabase, insist, isNotTold, settled } from "./test-faults.ts";

const databases: TestDatabase[] = [];
afterAll(() => Promise.all(databases.map((database) => database.drop())));

async function newDatabase(): Promise<string> {
  const database = await openTestDatabase();
  databases.push(database);
  return database.url;
}

/** As whoever takes its process for dead does. */
const endNewestRun = (url: string): Promise<unknown> =>
  inDatabase(url, (sql) => sql`UPDATE run SET ended_at_ms = 1 WHERE id = (SELECT max(id) FROM run)`);

describe("a commit that breaks off", () => {
  test("and was the hold of a node that was taken for dead meanwhile lets nothing be sent, and frees its key and approval", () =>
    withCable(async ({ cable, far, near, caller, url }) => {
      const callId = far.newId("call");
      const idempotency = claimOf("k");
      const approval = { id: await openApproval(near, caller), digest: digest("a") };
      cable.spoilCommit(callId, "unanswered", "cut");
      const holding = settled(far.hold(caller, { callId, idempotency, approval }));
      await waitUntil(async () => (await countRows(url, "call")) === 1, 1_000);
      await endNewestRun(url);
      await waitUntil(async () => (await near.receipt(caller, callId)).state === "released", 1_000);
      cable.mend();
      expect(String(await holding)).toContain("run that has ended");
      expect((await near.balance(caller)).held).toBe(0n);

      // Who ended it could not know that it was never sent. Who had it to send knows, and says so when it is back.
      expect(await near.hold(caller, { idempotency })).toMatchObject({
        earlier: { callId, state: "released", outcome: "unknown" },
      });
      const freed = { accountId: caller.accountId, keyHash: idempotency.keyHash };
      expect(await near.hold(caller, { approval })).toMatchObject({ reason: "used" });
      const takeBack = () =>
        far.store().ledger.release({ ...releaseOf(callId), freed, freedApprovalId: approval.id });
      expect(await takeBack()).toMatchObject({ first: false, state: "released" });
      const again = await near.held(caller, { idempotency, approval });
      await takeBack();
      expect(await near.hold(caller, { idempotency })).toMatchObject({ earlier: { callId: again } });
      expect(await near.hold(caller, { approval })).toMatchObject({ reason: "used" });
    }, 1_500));

  test("and was that of a vendor's word about a new task is written again", () =>
    withCable(async ({ cable, far, near, caller }) => {
      for (const fate of ["lost", "unanswered"] as const) {
        const id = far.newId("task");
        await far.held(caller, {
          task: { id, expected: { units: 10 }, deadlineAtMs: middayMs + dayMs, openMax: 100 },
        });
        cable.spoilCommit(id, fate);
        await beginTask(far, id);
        expect(await stateOf(near, caller, id)).toBe("PENDING");
      }
    }));

  test("and cannot be repeated is told as doubtful, and not tried twice", () =>
    withCable(async ({ cable, far, near }) => {
      const account = { id: "acc_doubtful", name: "test", tier: "free", creditMicros: 5n } as const;
      cable.spoilCommit(account.id, "unanswered");
      const opening = far
        .store()
        .accounts.create({ ...account, planMultiplierPpm: 1_000_000n, nowMs: middayMs });
      expect(await settled(opening)).toBeInstanceOf(InDoubt);
      expect(await near.store().accounts.find(account.id)).toMatchObject({ postedMicros: 5n });
    }));

  test.each(["lost", "unanswered"] as const)(
    "and is %s, of a payment or a correction, is tried again and booked once",
    (fate) =>
      withCable(async ({ cable, far, near, caller: { accountId } }) => {
        const { accounts } = far.store();
        const payment = { transferId: "top_up:1", accountId, amountMicros: 7n, nowMs: middayMs };
        cable.spoilCommit(payment.transferId, fate);
        expect(await accounts.topUp({ ...payment, reference: undefined })).toMatchObject({
          postedMicros: 1_000_007n,
          toppedUpMicros: 7n,
        });
        const correction = { ...payment, transferId: "adjustment:1", amountMicros: -5n, reason: "refund" };
        cable.spoilCommit(correction.transferId, fate);
        expect(await accounts.adjust(correction)).toMatchObject({ postedMicros: 1_000_002n });
        expect(await near.store().accounts.find(accountId)).toMatchObject({ postedMicros: 1_000_002n });
      }),
  );

  test("and arrives late, of a payment, is told as doubtful, also when another try was kept waiting for it", () =>
    withCable(async ({ cable, far, near, caller: { accountId } }) => {
      const payment = { transferId: "top_up:1", accountId, amountMicros: 7n, nowMs: middayMs };
      cable.spoilCommit(payment.transferId, "kept");
      const paying = settled(far.store().accounts.topUp({ ...payment, reference: undefined }));
      await Bun.sleep(300);
      cable.cut();
      cable.mend();
      expect(await paying).toBeInstanceOf(InDoubt);
      cable.deliver();
      const isPaid = async () => (await near.store().accounts.find(accountId))?.toppedUpMicros === 7n;
      await waitUntil(isPaid, 1_000);
    }));

  test.each(["lost", "unanswered"] as const)("and is %s is asked about again, and done once", (fate) =>
    withCable(async ({ cable, far, near, caller }) => {
      const callId = far.newId("call");
      cable.spoilCommit(callId, fate);
      await far.held(caller, { callId });
      expect(await near.balance(caller)).toEqual({ posted: 1_000_000n, held: 100n });
      cable.spoilCommit(callId, fate);
      // Whoever ended it counts what it was charged: nobody else will.
      expect(await far.settle(callId, { units: 40 })).toMatchObject({
        first: true,
        state: "settled",
        chargedMicros: 40n,
      });
      expect(await far.settle(callId, { units: 40 })).toMatchObject({ first: false, chargedMicros: 40n });
      expect(await near.balance(caller)).toEqual({ posted: 999_960n, held: 0n });
    }),
  );

  test("and arrives when its caller has given up leaves nothing held behind their release", () =>
    withCable(async ({ cable, far, near, caller }) => {
      const callId = far.newId("call");
      cable.spoilCommit(callId, "kept");
      expect(await settled(far.hold(caller, { callId }))).toBeInstanceOf(InDoubt);
      cable.cut();
      cable.mend();
      const releasing = far.release(callId, { outcome: "unknown" });
      await Bun.sleep(300);
      expect(await near.balance(caller)).toEqual({ posted: 1_000_000n, held: 0n });
      cable.deliver();
      expect(await releasing).toMatchObject({ first: true, state: "released" });
      expect(await near.balance(caller)).toEqual({ posted: 1_000_000n, held: 0n });
    }));
});

test("an end that is asked for while a note cannot be written is not forgotten with it", () =>
  withCable(async ({ cable, far, near, caller }) => {
    const callId = await far.held(caller);
    cable.spoilCommit(callId, "kept");
    far.store().ledger.noteProgress(callId, { units: 5 });
    // Nothing but the note is under way by then, and nothing comes after the end.
    await Bun.sleep(400);
    const settling = far.settle(callId, { units: 10 });
    await Bun.sleep(50);
    cable.cut();
    cable.deliver();
    cable.mend();
    const told = await Promise.race([settling, Bun.sleep(3_000)]);
    expect(told).toMatchObject({ first: true, chargedMicros: 10n });
    expect(await near.balance(caller)).toEqual({ posted: 999_990n, held: 0n });
  }));

test("an account that a stopped node has locked keeps nobody waiting but its own callers", () =>
  withCable(async ({ cable, far, near, caller }) => {
    const others = await Promise.all([near.openCaller(), near.openCaller()]);
    const running = await near.held(caller);
    const callId = far.newId("call");
    cable.spoilCommit(callId, "kept");
    const stopped = settled(far.hold(caller, { callId }));
    await Bun.sleep(100);

    const beganMs = performance.now();
    const [kept, ...passed] = await Promise.all([
      settled(near.hold(caller)),
      ...others.map((other) => near.hold(other)),
    ]);
    expect(passed).toEqual([{ kind: "held" }, { kind: "held" }]);
    const isEnded = near.settle(running, { units: 10 });
    for (const other of others) {
      const askedMs = performance.now();
      await near.held(other);
      expect(performance.now() - askedMs).toBeLessThan(500);
    }
    expect(isNotTold(kept)).toBe(true);
    expect(performance.now() - beganMs).toBeLessThan(3_500);
    cable.deliver();
    expect(await isEnded).toMatchObject({ first: true, chargedMicros: 10n });
    expect(isNotTold(await stopped)).toBe(true);
  }));

describe("a node that dies", () => {
  const deadAfterMs = 1_500;

  test("leaves nothing that others do not end, and nothing of theirs is touched", () =>
    withCable(async ({ cable, far, near, caller, url }) => {
      const budgeted = await near.openKey(caller, { budget: { limitMicros: 5_000n, window: "day" } });
      const [held, stream] = [await far.held(budgeted), await far.held(budgeted)];
      far.store().ledger.noteProgress(stream, { units: 30 });
      const left = await beginTasks(far, caller);
      const [ours, ourStream] = [await near.held(caller), await near.held(caller)];
      near.store().ledger.noteProgress(ourStream, { units: 30 });
      const kept = await beginTasks(near, caller);
      await waitUntil(async () => (await countRows(url, "call WHERE progress IS NOT NULL")) === 2, 2_000);

      cable.cut();
      const cutMs = performance.now();
      const isEnded = async (): Promise<boolean> => (await near.receipt(caller, held)).state === "released";
      await Bun.sleep(deadAfterMs - 500);
      expect(await isEnded()).toBe(false);
      await waitUntil(isEnded, 3_000);
      expect(performance.now() - cutMs).toBeLessThan(deadAfterMs + 1_500);

      await waitUntil(async () => (await stateOf(near, caller, left.creating)) === "LOST", 1_000);
      expect(await near.receipt(caller, held)).toMatchObject({ outcome: "unknown", chargedMicros: 0n });
      expect(await near.receipt(caller, stream)).toMatchObject({
        state: "settled",
        outcome: "unknown",
        usageSource: "estimated",
        chargedMicros: 30n,
      });
      // What its vendor has goes on, and whoever comes next may ask about it at once.
      expect(await stateOf(near, caller, left.running)).toBe("PENDING");
      expect(await claim(near, left.running)).toBe(true);

      for (const callId of [ours, ourStream]) expect((await near.receipt(caller, callId)).state).toBe("held");
      expect(await stateOf(near, caller, kept.creating)).toBe("CREATING");
      expect(await claim(near, kept.running)).toBe(false);
      expect(await near.settle(ours, { units: 10 })).toMatchObject({ first: true, chargedMicros: 10n });
      expect(await countEndedRuns(url)).toBe(1);

      cable.mend();
      // It was only away. What it ends now has ended, and from now on it holds again.
      expect(await far.settle(held, { units: 10 })).toMatchObject({ first: false, state: "released" });
      expect(await far.settle(await far.held(caller), { units: 5 })).toMatchObject({
        first: true,
        chargedMicros: 5n,
      });
    }, deadAfterMs));

  test("after it found another one dead leaves that one's tasks to whoever is left", () =>
    withCable(async ({ far, near, caller, url }) => {
      const left = await beginTasks(far, caller);
      await inDatabase(
        url,
        (sql) => sql`UPDATE run SET ended_at_ms = 1 WHERE id = (SELECT max(id) FROM run)`,
      );
      await waitUntil(async () => (await stateOf(near, caller, left.creating)) === "LOST", 2_000);
      expect(await claim(near, left.running)).toBe(true);
    }, deadAfterMs));

  test("in the eyes of another ends a task that it never sent, also when that one took it for lost", () =>
    withCable(async ({ far, near, caller, url }) => {
      const task = {
        id: far.newId("task"),
        expected: { units: 10 },
        deadlineAtMs: middayMs + dayMs,
        openMax: 1,
      };
      const callId = await far.held(caller, { task });
      await endNewestRun(url);
      await waitUntil(async () => (await stateOf(near, caller, task.id)) === "LOST", 2_000);
      const ended = await far.store().ledger.release({ ...releaseOf(callId), abandonsTask: true });
      expect(ended).toMatchObject({ first: true, state: "released" });
      expect(await stateOf(near, caller, task.id)).toBe("REFUSED");
    }, deadAfterMs));

  test("in the eyes of another, and lives, goes on as somebody new, and its calls end once", () =>
    withCable(async ({ far, near, caller, url }) => {
      const running = await Promise.all(Array.from({ length: 20 }, () => far.held(caller)));
      await inDatabase(
        url,
        (sql) => sql`UPDATE run SET ended_at_ms = 1 WHERE id = (SELECT max(id) FROM run)`,
      );
      const [ends, held] = await Promise.all([
        Promise.all(running.map((callId) => far.settle(callId, { units: 10 }))),
        far.held(caller),
      ]);
      const charged = ends.filter(({ first }) => first).length;
      for (const { first, state, chargedMicros } of ends)
        expect({ state, chargedMicros }).toEqual(
          first ? { state: "settled", chargedMicros: 10n } : { state: "released", chargedMicros: 0n },
        );
      // What it holds from then on stays its own, for longer than the others are patient.
      await Bun.sleep(2 * deadAfterMs);
      expect((await near.receipt(caller, held)).state).toBe("held");
      expect(await near.balance(caller)).toEqual({ posted: 1_000_000n - 10n * BigInt(charged), held: 100n });
      expect(await countEndedRuns(url)).toBe(1);
    }, deadAfterMs));

  test("is not who waits for the account of one that did", async () => {
    const url = await newDatabase();
    await withNodes({ url, count: 1, deadAfterMs }, async ({ node }) => {
      const caller = await node(0).openCaller();
      await node(0).held(caller);
      const [ours, monotonicMs] = [await node(0).openCaller(), () => performance.now()];
      const db = openDatabase({ url, monotonicMs });
      const watcher = createRuns({ db, wallMs: () => 1, monotonicMs, deadAfterMs });
      try {
        await inDatabase(url, (sql) =>
          sql.begin(async (transaction) => {
            await transaction`SELECT id FROM account WHERE id = ${caller.accountId} FOR UPDATE`;
            await endNewestRun(url);
            const running = await node(0).held(ours);
            for (let looks = 0; looks < 20; looks++) {
              expect(await watcher.beat()).toBe(false);
              await Bun.sleep(deadAfterMs / 7.5);
            }
            expect((await node(0).receipt(ours, running)).state).toBe("held");
          }),
        );
        await waitUntil(async () => (await node(0).balance(caller)).held === 0n, 2_000);
      } finally {
        await db.close();
      }
    });
  });

  test("in the eyes of another is somebody new also when it has nothing to do", () =>
    withCable(async ({ far, caller, url }) => {
      await inDatabase(
        url,
        (sql) => sql`UPDATE run SET ended_at_ms = 1 WHERE id = (SELECT max(id) FROM run)`,
      );
      await waitUntil(async () => (await countRows(url, "run")) === 3, 2_000);
      const tasks = await beginTasks(far, caller);
      await Bun.sleep(500);
      expect(await stateOf(far, caller, tasks.creating)).toBe("CREATING");
    }, deadAfterMs));
});

test("a quiet node whose connections were all forgotten on the way is not taken for dead while new ones pass", () => {
  const deadAfterMs = 4_000;
  return withCable(async ({ cable, far, near, caller, url }) => {
    // As many connections as it may have.
    await Promise.all(Array.from({ length: 20 }, () => far.balance(caller)));
    const running = await far.held(caller);
    cable.forget();
    await Bun.sleep(2 * deadAfterMs);
    expect((await near.receipt(caller, running)).state).toBe("held");
    expect(await countEndedRuns(url)).toBe(0);
    // It need not find out for each of them by waiting.
    cable.cut();
    cable.mend();
    expect(await insist(() => far.settle(running, { units: 10 }))).toMatchObject({ chargedMicros: 10n });
  }, deadAfterMs);
}, 30_000);

test("money goes on before its callers give up when its connection was forgotten on the way, as after a fail-over", () =>
  withCable(async ({ cable, far, near, caller }) => {
    const running = await far.held(caller);
    cable.forget();
    // No caller hears of it.
    const held = await far.held(caller);
    expect(await far.settle(running, { units: 10 })).toMatchObject({ chargedMicros: 10n });
    expect((await near.receipt(caller, held)).state).toBe("held");
    await far.settle(held, { units: 1 });
  }));

test("an end whose commit was under way then is written again as soon as the node is seen to live, and once", () => {
  const deadAfterMs = 4_000;
  return withCable(async ({ cable, far, near, caller, url }) => {
    const running = await far.held(caller);
    await inDatabase(url, async (sql) => {
      await sql.unsafe(`CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$
                        BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END $$`);
      await sql.unsafe(`CREATE CONSTRAINT TRIGGER slowly AFTER UPDATE ON call DEFERRABLE INITIALLY DEFERRED
                        FOR EACH ROW WHEN (new.settled_at_ms IS NOT NULL) EXECUTE FUNCTION slowly()`);
    });
    const beganMs = performance.now();
    const ending = far.settle(running, { units: 10 });
    const committing = "pg_stat_activity WHERE query = 'COMMIT' AND state = 'active'";
    await waitUntil(async () => (await countRows(url, committing)) === 1, 2_000);
    cable.forget();
    expect(await ending).toMatchObject({ state: "settled", chargedMicros: 10n });
    // A statement has ten seconds.
    expect(performance.now() - beganMs).toBeLessThan(7_000);
    expect(await near.balance(caller)).toEqual({ posted: 999_990n, held: 0n });
  }, deadAfterMs);
});

/** A node at the end of a cable, and one that nothing happens to. */
async function withCable(
  run: (parts: {
    readonly cable: Cable;
    readonly far: TestBooks;
    readonly near: TestBooks;
    readonly caller: Caller;
    readonly url: string;
  }) => Promise<void>,
  deadAfterMs?: number,
): Promise<void> {
  const url = await newDatabase();
  const cable = await openCable(url);
  const options = { url, count: 1, ...(deadAfterMs === undefined ? {} : { deadAfterMs }) };
  try {
    await withNodes(options, async ({ node }) => {
      const far = await openNode({ url: cable.url, name: "far_", deadAfterMs });
      try {
        await run({ cable, far, near: node(0), caller: await node(0).openCaller(), url });
      } finally {
        cable.mend();
        await far.store().close();
      }
    });
  } finally {
    await cable.close();
  }
}

const dayMs = 24 * 60 * 60_000;
const leaseMs = 30_000;

/** A task that is being created, and one that its vendor has and that the node has claimed. */
async function beginTasks(at: TestBooks, caller: Caller): Promise<{ creating: string; running: string }> {
  const [creating, running] = [at.newId("task"), at.newId("task")];
  for (const id of [creating, running])
    await at.held(caller, {
      task: { id, expected: { units: 10 }, deadlineAtMs: middayMs + dayMs, openMax: 100 },
    });
  await beginTask(at, running);
  expect(await claim(at, running)).toBe(true);
  return { creating, running };
}

const beginTask = (at: TestBooks, taskId: string): Promise<boolean> =>
  at.store().tasks.begin({
    taskId,
    upstream: "vendor",
    upstreamTaskId: `v-${taskId}`,
    state: "PENDING",
    attempts: [],
    askedAtMs: middayMs,
    nextPollAtMs: middayMs,
  });

const claim = async (at: TestBooks, taskId: string): Promise<boolean> =>
  (await at.store().tasks.claim({ taskId, nowMs: middayMs, leaseMs, notAskedSinceMs: middayMs })) !==
  undefined;

const stateOf = async (at: TestBooks, { accountId }: Caller, taskId: string): Promise<string | undefined> =>
  (await at.store().tasks.find(accountId, taskId))?.state;
