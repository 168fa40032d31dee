// What every store of tasks must keep, whatever it is made of.

import { describe, expect, test } from "bun:test";
import {
  middayMs,
  releaseOf,
  settlementOf,
  withBooks,
  type TestBooks,
  type Caller,
  type OpenStore,
} from "../ledger/conformance/shared-conformance.ts";
import type { Task, TaskEnd, TaskState } from "../ledger/task-record.ts";

const upstream = "vendor";
const leaseMs = 30_000;
const dayMs = 86_400_000;

const said = (status: TaskState["status"]): TaskState => ({
  kind: "state",
  status,
  upstreamTaskId: "v",
  videoUrl: undefined,
  origPrompt: undefined,
  durationSeconds: undefined,
  inputSeconds: undefined,
  resolution: undefined,
  videoCount: undefined,
  submitAtMs: undefined,
  scheduledAtMs: undefined,
  endAtMs: undefined,
  code: undefined,
  message: undefined,
});

const ended = (task: Task, state: TaskEnd["state"] = "SUCCEEDED"): TaskEnd => ({
  taskId: task.id,
  fence: task.fence,
  state,
  report: said("SUCCEEDED"),
  forgetAtMs: middayMs + dayMs,
});

export function tasksConformance(kind: string, openStore: OpenStore): void {
  const withTasks = (run: (books: TestBooks, caller: Caller) => Promise<void>) => () =>
    withBooks(openStore, async (books) => run(books, await books.openCaller()));

  const wanted = (books: TestBooks, openMax = 3) => ({
    id: books.newId("task"),
    expected: { units: 100 },
    deadlineAtMs: middayMs + dayMs,
    openMax,
  });

  /** A task that is being created; its call and its id. */
  const creating = async (books: TestBooks, caller: Caller) => {
    const task = wanted(books, 1_000);
    return { callId: await books.held(caller, { task }), taskId: task.id };
  };

  /** A task that its vendor has. */
  const begun = async (books: TestBooks, caller: Caller, nextPollAtMs = middayMs) => {
    const created = await creating(books, caller);
    await books.store().tasks.begin({
      taskId: created.taskId,
      upstream,
      upstreamTaskId: `v-${created.taskId}`,
      state: "PENDING",
      attempts: [],
      askedAtMs: middayMs,
      nextPollAtMs,
    });
    return created;
  };

  const found = async (books: TestBooks, caller: Caller, taskId: string): Promise<Task> => {
    const task = await books.store().tasks.find(caller.accountId, taskId);
    if (!task) throw new Error(`There is no task ${taskId}.`);
    return task;
  };

  const claimDue = (books: TestBooks, nowMs: number, limit = 10) =>
    books.store().tasks.claimDue({ upstream, nowMs, leaseMs, limit });

  describe(`${kind}: a task`, () => {
    test(
      "begins with its hold, and only as many as the key may have",
      withTasks(async (books, caller) => {
        const results = await Promise.all(
          Array.from({ length: 20 }, () => books.hold(caller, { task: wanted(books) })),
        );
        expect(results.filter((result) => result.kind === "held")).toHaveLength(3);
        expect(results.filter((result) => result.kind === "too_many_tasks")).toEqual(
          Array.from({ length: 17 }, () => ({ kind: "too_many_tasks", openMax: 3 })),
        );
        expect((await books.balance(caller)).held).toBe(300n);
        expect(await books.store().tasks.countOpen(caller.keyId)).toBe(3);
        const other = await books.openKey(caller);
        expect((await books.hold(other, { task: wanted(books) })).kind).toBe("held");
      }),
    );

    test(
      "of a hold that does not fit is not there",
      withTasks(async (books, caller) => {
        const task = wanted(books);
        const result = await books.hold(caller, { task, amountMicros: 2_000_000n });
        expect(result.kind).toBe("insufficient_balance");
        expect(await books.store().tasks.find(caller.accountId, task.id)).toBeUndefined();
      }),
    );

    test(
      "belongs to its account alone",
      withTasks(async (books, caller) => {
        const { taskId } = await begun(books, caller);
        const stranger = await books.openCaller();
        expect(await books.store().tasks.find(stranger.accountId, taskId)).toBeUndefined();
        expect((await found(books, caller, taskId)).state).toBe("PENDING");
      }),
    );

    test(
      "ends with its call, once, whoever comes",
      withTasks(async (books, caller) => {
        const { callId, taskId } = await begun(books, caller);
        const task = await found(books, caller, taskId);
        const { ledger } = books.store();
        const ends = await Promise.all([
          ledger.settle({ ...settlementOf(callId, { units: 60 }), task: ended(task) }),
          ledger.release({ ...releaseOf(callId), task: ended(task, "FAILED") }),
          ledger.settle({ ...settlementOf(callId, { units: 90 }), task: ended(task) }),
        ]);
        expect(ends.filter(({ first }) => first)).toHaveLength(1);
        expect(await books.balance(caller)).toEqual({ posted: 999_940n, held: 0n });
        expect((await found(books, caller, taskId)).state).toBe("SUCCEEDED");
        expect(await books.store().tasks.countOpen(caller.keyId)).toBe(0);
      }),
    );

    test(
      "is not ended by whoever lost the claim on it, and its call neither",
      withTasks(async (books, caller) => {
        const { callId, taskId } = await begun(books, caller);
        const [zombie] = await claimDue(books, middayMs);
        const [other] = await claimDue(books, middayMs + leaseMs);
        if (!zombie || !other) throw new Error("It was not claimed twice.");
        expect(other.fence).toBeGreaterThan(zombie.fence);
        const late = { ...settlementOf(callId, { units: 60 }), task: ended(zombie) };
        expect(await books.store().ledger.settle(late)).toMatchObject({ first: false, chargedMicros: 0n });
        expect((await books.balance(caller)).held).toBe(100n);
        const noted = {
          state: "RUNNING",
          report: undefined,
          errors: 0,
          missing: 0,
          nextPollAtMs: 0,
        } as const;
        expect(await books.store().tasks.note({ taskId, fence: zombie.fence, ...noted })).toBe(false);
        const release = { ...releaseOf(callId), task: ended(other, "FAILED") };
        expect((await books.store().ledger.release(release)).first).toBe(true);
        expect((await books.balance(caller)).held).toBe(0n);
      }),
    );

    test(
      "that never left ends with its call, also when somebody took it for lost",
      withTasks(async (books, caller) => {
        const [open, lost] = [await creating(books, caller), await creating(books, caller)];
        await books.store().tasks.lose(lost.taskId, []);
        for (const { callId, taskId } of [open, lost]) {
          const release = { ...releaseOf(callId), abandonsTask: true } as const;
          expect((await books.store().ledger.release(release)).first).toBe(true);
          expect((await found(books, caller, taskId)).state).toBe("REFUSED");
        }
      }),
    );

    test(
      "is claimed by one at a time, those first that have waited longest",
      withTasks(async (books, caller) => {
        const late = await begun(books, caller, middayMs + 20);
        const early = await begun(books, caller, middayMs + 10);
        await begun(books, caller, middayMs + 5_000);
        const nowMs = middayMs + 1_000;
        const [first, second] = await Promise.all([claimDue(books, nowMs, 1), claimDue(books, nowMs, 5)]);
        expect([...first, ...second].map(({ id }) => id)).toEqual([early.taskId, late.taskId]);
        expect(await claimDue(books, nowMs)).toEqual([]);
        expect(await books.store().tasks.countDue({ upstream, nowMs, limit: 10 })).toBe(0);
      }),
    );

    test(
      "is not claimed for a caller while somebody has it, or soon after it was asked about",
      withTasks(async (books, caller) => {
        const { taskId } = await begun(books, caller);
        const claim = (nowMs: number) =>
          books.store().tasks.claim({ taskId, nowMs, leaseMs, notAskedSinceMs: nowMs - 3_000 });
        expect(await claim(middayMs + 2_999)).toBeUndefined();
        const [one, two] = await Promise.all([claim(middayMs + 3_000), claim(middayMs + 3_000)]);
        expect([one, two].filter((task) => task !== undefined)).toHaveLength(1);
        expect(await claim(middayMs + 10_000)).toBeUndefined();
        expect(await claim(middayMs + 40_000)).toBeDefined();
      }),
    );

    test(
      "keeps its hold when the process dies; one that was being created is lost and never due",
      withTasks(async (books, caller) => {
        const kept = await begun(books, caller);
        const lost = await creating(books, caller);
        const plain = await books.held(caller);
        const [zombie] = await claimDue(books, middayMs);
        if (!zombie) throw new Error("It was not claimed.");
        const recovery = await books.restart();
        expect(recovery).toEqual({
          releasedCalls: 1,
          releasedMicros: 100n,
          settledCalls: 0,
          charges: [],
          lostTasks: 1,
        });
        expect((await books.receipt(caller, plain)).state).toBe("released");
        expect((await books.balance(caller)).held).toBe(200n);
        expect((await found(books, caller, lost.taskId)).state).toBe("LOST");
        // The claim died with its process: nothing is ended under it any more, and nobody waits for it.
        const late = { ...settlementOf(kept.callId, { units: 60 }), task: ended(zombie) };
        expect((await books.store().ledger.settle(late)).first).toBe(false);
        expect((await claimDue(books, middayMs)).map(({ id }) => id)).toEqual([kept.taskId]);
        expect(await books.store().tasks.countOpen(caller.keyId)).toBe(1);
        expect((await books.restart()).lostTasks).toBe(0);
      }),
    );

    test(
      "that was asked about at a time that has not come yet, because the clock was set back, is due at once",
      withTasks(async (books, caller) => {
        const { tasks } = books.store();
        const frozen = await begun(books, caller, middayMs + 60_000);
        const claimed = await begun(books, caller);
        await claimDue(books, middayMs);
        const beforeMs = middayMs - 3_600_000;
        expect(await claimDue(books, beforeMs)).toEqual([]);
        await tasks.bringBack({ nowMs: beforeMs, askedAfterMs: middayMs });
        expect(await claimDue(books, beforeMs)).toEqual([]);
        await tasks.bringBack({ nowMs: beforeMs, askedAfterMs: beforeMs });
        const due = await claimDue(books, beforeMs);
        expect(due.map(({ id }) => id).toSorted()).toEqual([frozen.taskId, claimed.taskId].toSorted());
        expect(due.map(({ askedAtMs }) => askedAtMs)).toEqual([beforeMs, beforeMs]);
      }),
    );

    test(
      "that was asked about before now keeps its times when others are brought back",
      withTasks(async (books, caller) => {
        await begun(books, caller, middayMs + 60_000);
        await books.store().tasks.bringBack({ nowMs: middayMs, askedAfterMs: middayMs });
        expect(await claimDue(books, middayMs)).toEqual([]);
        expect(await claimDue(books, middayMs + 60_000)).toHaveLength(1);
      }),
    );

    test(
      "that is overdue is found, and its end gives the hold back",
      withTasks(async (books, caller) => {
        const { callId } = await creating(books, caller);
        await books.restart();
        const { tasks, ledger } = books.store();
        expect(await tasks.listOverdue(middayMs + dayMs - 1, 10)).toEqual([]);
        const [task] = await tasks.listOverdue(middayMs + dayMs, 10);
        if (!task) throw new Error("It is not overdue.");
        await ledger.release({ ...releaseOf(callId, { outcome: "unknown" }), task: ended(task, "EXPIRED") });
        expect((await books.balance(caller)).held).toBe(0n);
        expect(await tasks.listOverdue(middayMs + dayMs, 10)).toEqual([]);
      }),
    );

    test(
      "that its vendor has is overdue when nobody asks and it was asked about since, or for long could not be",
      withTasks(async (books, caller) => {
        const { taskId } = await begun(books, caller);
        const { tasks } = books.store();
        const deadlineMs = middayMs + dayMs;
        const overdue = async (nowMs: number) => (await tasks.listOverdue(nowMs, 10)).map(({ id }) => id);
        expect(await overdue(deadlineMs + 3_599_999)).toEqual([]);
        expect(await overdue(deadlineMs + 3_600_000)).toEqual([taskId]);

        const askedMs = deadlineMs + 1_000;
        const [claimed] = await claimDue(books, askedMs);
        if (!claimed) throw new Error("It was not claimed.");
        expect(await overdue(askedMs + leaseMs - 1)).toEqual([]);
        expect(await overdue(askedMs + leaseMs)).toEqual([taskId]);
        const learnt = { state: "RUNNING", report: undefined, errors: 0, missing: 0 } as const;
        await tasks.note({ taskId, fence: claimed.fence, ...learnt, nextPollAtMs: askedMs + 10_000 });
        expect(await overdue(askedMs)).toEqual([taskId]);
      }),
    );

    test(
      "that was abandoned with its call is still found by it",
      withTasks(async (books, caller) => {
        const { callId, taskId } = await creating(books, caller);
        await books.store().ledger.release({ ...releaseOf(callId), abandonsTask: true });
        expect((await found(books, caller, taskId)).state).toBe("REFUSED");
        expect(await books.store().tasks.findByCall(callId)).toMatchObject({ id: taskId });
      }),
    );

    test(
      "that is lost leaves its call in doubt, until its vendor's id comes or it ends",
      withTasks(async (books, caller) => {
        const [lost, found] = [await creating(books, caller), await creating(books, caller)];
        const { tasks, calls, ledger } = books.store();
        for (const { taskId } of [lost, found]) await tasks.lose(taskId, []);
        const inDoubt = async (): Promise<string[]> => {
          const filter = { limit: 10, before: undefined, operationId: undefined, keyId: undefined };
          const page = await calls.list(caller.accountId, { ...filter, status: "unknown" });
          const open = await calls.list(caller.accountId, { ...filter, status: "held" });
          expect(page.calls.length + open.calls.length).toBe(2);
          return page.calls.map(({ id, state }) => `${id} ${state}`).toSorted();
        };
        expect(await inDoubt()).toEqual([`${lost.callId} unknown`, `${found.callId} unknown`].toSorted());
        const at = { upstream, upstreamTaskId: "v", state: "PENDING", attempts: [] } as const;
        await tasks.begin({ taskId: found.taskId, ...at, askedAtMs: middayMs, nextPollAtMs: middayMs });
        expect(await inDoubt()).toEqual([`${lost.callId} unknown`]);
        expect((await books.receipt(caller, lost.callId)).state).toBe("unknown");
        expect((await books.receipt(caller, found.callId)).state).toBe("held");
        await ledger.release({ ...releaseOf(lost.callId), abandonsTask: true });
        expect((await books.receipt(caller, lost.callId)).state).toBe("released");
      }),
    );

    test(
      "names its upstream as long as it is open",
      withTasks(async (books, caller) => {
        const { tasks, ledger } = books.store();
        expect(await tasks.listUpstreams()).toEqual([]);
        await creating(books, caller);
        const { callId, taskId } = await begun(books, caller);
        await begun(books, caller);
        expect(await tasks.listUpstreams()).toEqual([upstream]);
        const task = await found(books, caller, taskId);
        await ledger.release({ ...releaseOf(callId), task: ended(task, "FAILED") });
        expect(await tasks.listUpstreams()).toEqual([upstream]);
        for (const other of await claimDue(books, middayMs))
          await ledger.release({ ...releaseOf(other.callId), task: ended(other, "FAILED") });
        expect(await tasks.listUpstreams()).toEqual([]);
      }),
    );

    test(
      "takes the vendor's id once",
      withTasks(async (books, caller) => {
        const { taskId } = await begun(books, caller);
        const again = { taskId, upstream: "other", upstreamTaskId: "x", state: "RUNNING" } as const;
        await books.store().tasks.begin({ ...again, attempts: [], askedAtMs: 0, nextPollAtMs: 0 });
        expect((await found(books, caller, taskId)).at).toEqual({ upstream, taskId: `v-${taskId}` });
        await books.store().tasks.lose(taskId, []);
        expect((await found(books, caller, taskId)).state).toBe("PENDING");
      }),
    );

    test(
      "does not take a vendor's id that another has or had, and takes its own as often as it is told",
      withTasks(async (books, caller) => {
        const { tasks, ledger } = books.store();
        const [first, second] = [await begun(books, caller), await creating(books, caller)];
        const told = {
          state: "PENDING",
          attempts: [],
          askedAtMs: middayMs,
          nextPollAtMs: middayMs,
        } as const;
        const take = (taskId: string, upstreamTaskId: string, from = upstream) =>
          tasks.begin({ taskId, upstreamTaskId, upstream: from, ...told });
        const taken = `v-${first.taskId}`;
        expect(await take(first.taskId, taken)).toBe(true);
        expect(await take(second.taskId, taken)).toBe(false);
        const task = await found(books, caller, first.taskId);
        await ledger.settle({ ...settlementOf(first.callId, { units: 60 }), task: ended(task) });
        expect(await take(second.taskId, taken)).toBe(false);
        expect(await found(books, caller, second.taskId)).toMatchObject({ state: "CREATING", at: undefined });

        const rivals = [await creating(books, caller), await creating(books, caller)];
        const results = await Promise.all(rivals.map(({ taskId }) => take(taskId, "contested")));
        expect(results.filter(Boolean)).toHaveLength(1);
        // Another vendor counts for itself.
        expect(await take(second.taskId, taken, "another")).toBe(true);
      }),
    );

    test(
      "that has ended takes no vendor's id",
      withTasks(async (books, caller) => {
        const { callId, taskId } = await creating(books, caller);
        await books.store().ledger.release({ ...releaseOf(callId), abandonsTask: true });
        const late = { taskId, upstream, upstreamTaskId: "late", state: "RUNNING" } as const;
        await books.store().tasks.begin({ ...late, attempts: [], askedAtMs: 0, nextPollAtMs: 0 });
        expect(await found(books, caller, taskId)).toMatchObject({ state: "REFUSED", at: undefined });
      }),
    );
  });
}
