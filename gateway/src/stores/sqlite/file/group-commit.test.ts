import type { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { StoreBusy } from "../../../ledger/store-errors.ts";
import { expectWithin } from "../../../platform/test-within.ts";
import { openSqliteStore } from "../sqlite-store.ts";
import { createNumbers, failing, nextTurn } from "./test-numbers.ts";

const { newPath, open, block, closeAll } = createNumbers();
afterEach(closeAll);

describe("group commit", () => {
  test("writes that come together share one commit, and each gets its own result", async () => {
    const { group, commits, add, seenByOthers } = open();
    const writes = Array.from({ length: 200 }, (_, n) =>
      group.run(() => {
        add(n);
        return n * 2;
      }),
    );
    expect(await Promise.all(writes)).toEqual(Array.from({ length: 200 }, (_, n) => n * 2));
    expect(commits).toEqual([200]);
    expect(seenByOthers()).toHaveLength(200);
  });

  test("nobody is told a result before it is on disk", async () => {
    const { group, add, seenByOthers } = open();
    let toldTooEarly = 0;
    const writes = Array.from({ length: 40 }, async (_, n) => {
      await group.run(() => add(n));
      if (!seenByOthers().includes(n)) toldTooEarly++;
    });
    expect(seenByOthers()).toEqual([]);
    await Promise.all(writes);
    expect(toldTooEarly).toBe(0);
  });

  test("a write that throws fails alone, and leaves nothing of itself behind", async () => {
    const { group, add, seenByOthers, events } = open();
    const results = await Promise.allSettled([
      group.run(() => add(1)),
      group.run(() => {
        add(2);
        return failing();
      }),
      group.run(() => add(3)),
      group.run(() => add(1)),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "rejected"]);
    expect(results[1]).toMatchObject({ reason: { message: "this write is broken" } });
    expect(seenByOthers()).toEqual([1, 3]);
    expect(events.slice(0, 2)).toEqual(["begin", "rollback"]);
    await group.run(() => add(4));
    expect(seenByOthers()).toEqual([1, 3, 4]);
  });

  test("a rider joins the next commit, and a broken rider hurts nobody", async () => {
    const { group, add, seenByOthers, commits, events } = open();
    group.ride(() => add(1));
    await group.run(() => add(2));
    expect(seenByOthers()).toEqual([1, 2]);
    expect(commits).toEqual([1]);
    expect(events).not.toContain("lost ride");
    group.ride(failing);
    group.ride(() => add(3));
    await group.run(() => add(4));
    expect(seenByOthers()).toEqual([1, 2, 3, 4]);
    expect(events.filter((event) => event === "lost ride")).toHaveLength(1);
  });

  test("riders wait for a while to ride with somebody, and then ride alone, together", async () => {
    const { group, add, seenByOthers, commits } = open();
    group.ride(() => add(1));
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    group.ride(() => add(2));
    expect(seenByOthers()).toEqual([]);
    while (commits.length === 0) await Bun.sleep(5);
    expect(seenByOthers()).toEqual([1, 2]);
    group.ride(() => add(3));
    while (commits.length === 1) await Bun.sleep(5);
    expect(seenByOthers()).toEqual([1, 2, 3]);
    expect(commits).toEqual([0, 0]);
  });

  test("a crowd is committed in bounded batches, in order", async () => {
    const { group, add, commits } = open();
    const order: number[] = [];
    const writes = Array.from({ length: 1_000 }, async (_, n) => {
      await group.run(() => add(n));
      order.push(n);
    });
    await Promise.all(writes);
    expect(order).toEqual(Array.from({ length: 1_000 }, (_, n) => n));
    expect(commits).toEqual([256, 256, 256, 232]);
  });

  test("whoever comes with the next turn of the event loop shares the commit", async () => {
    const { group, add, commits } = open();
    const first = group.run(() => add(1));
    const second = nextTurn().then(() => group.run(() => add(2)));
    const third = nextTurn()
      .then(nextTurn)
      .then(() => group.run(() => add(3)));
    await Promise.all([first, second, third]);
    expect(commits).toEqual([3]);
  });

  test("those who come turn after turn keep nobody waiting for ever", async () => {
    const { group, add, commits } = open();
    let done = false;
    const first = group.run(() => add(0)).then(() => (done = true));
    const others: Promise<void>[] = [];
    for (let n = 1; !done; n++) {
      others.push(group.run(() => add(n)));
      await nextTurn();
    }
    await Promise.all([first, ...others]);
    expect(commits[0]).toBeLessThan(10);
  });

  test("while another process writes, nobody is refused who is patient, and the world goes on", async () => {
    const { path, group, add, seenByOthers } = open();
    const blocker = block(path);
    const writes = [group.run(() => add(1)), group.run(() => add(2), 40), group.run(() => add(3))];
    group.ride(() => add(4));
    const waited = Promise.allSettled(writes);
    // Turns of the loop, not ticks of a clock: a machine that stands still for a while has fewer ticks, too.
    let [turns, isRefused] = [0, false];
    void writes[1]?.catch(() => (isRefused = true));
    for (; !isRefused; turns++) await nextTurn();
    expect(turns).toBeGreaterThan(100);
    expect(seenByOthers()).toEqual([]);
    blocker.run("ROLLBACK");
    const results = await waited;
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(results[1]).toMatchObject({ reason: expect.any(StoreBusy) as unknown });
    expect(seenByOthers()).toEqual([1, 3, 4]);
  });

  test("another process that comes between writes tried one by one is waited for, too", async () => {
    const blocker: { db?: Database } = {};
    const { path, group, add, seenByOthers } = open({
      afterCommit: () => {
        if (blocker.db) return;
        blocker.db = block(path);
      },
    });
    const waited = Promise.allSettled([
      group.run(() => add(1)),
      group.run(failing),
      group.run(() => add(2)),
      group.run(() => add(3)),
    ]);
    await Bun.sleep(30);
    expect(seenByOthers()).toEqual([1]);
    blocker.db?.run("ROLLBACK");
    const results = await waited;
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
    expect(results[1]).toMatchObject({ reason: { message: "this write is broken" } });
    expect(seenByOthers()).toEqual([1, 2, 3]);
  });

  test("of a hundred writes that wait too long, each is refused once, after one wait", async () => {
    const { path, group, add, seenByOthers } = open();
    const blocker = block(path);
    const results = await expectWithin(1_000, () =>
      Promise.allSettled(Array.from({ length: 100 }, (_, n) => group.run(() => add(n), 50))),
    );
    expect(results.every(({ status }) => status === "rejected")).toBe(true);
    blocker.run("ROLLBACK");
    await group.run(() => add(7));
    expect(seenByOthers()).toEqual([7]);
  });
});

test("a write's patience ends when it should, however many wait before it", async () => {
  const { path, group, add } = open();
  block(path);
  const told: number[] = [];
  const beganAt = performance.now();
  await Promise.all(
    Array.from({ length: 2_000 }, (_, n) =>
      group.run(() => add(n), 150).catch(() => told.push(performance.now() - beganAt)),
    ),
  );
  // Of one who stood behind seven others it used to be eight times as long.
  expect((told.at(-1) ?? 0) / (told[0] ?? 1)).toBeLessThan(3);
  expect(told).toHaveLength(2_000);
});

describe("the store", () => {
  const account = (id: string) => ({
    id,
    name: "n",
    tier: "free" as const,
    planMultiplierPpm: 1n,
    creditMicros: 5n,
    nowMs: 1,
  });

  test("writes everything that was asked for before it closes", async () => {
    const path = newPath();
    const store = openSqliteStore({ path });
    const created = Array.from({ length: 600 }, (_, n) => store.accounts.create(account(`acc_${n}`)));
    await store.close();
    expect(await Promise.all(created)).toHaveLength(600);
    const again = openSqliteStore({ path });
    expect(await again.accounts.list()).toHaveLength(600);
    await again.close();
  });

  const told = (error: unknown): unknown => error;

  test("is not ready once a write has waited in vain, until another would get its turn, whether or not one comes", async () => {
    const path = newPath();
    const store = openSqliteStore({ path, patienceMs: 20 });
    const blocker = block(path);
    // Somebody else may write for a moment, which nobody has suffered from yet.
    await store.ping();
    expect(await store.accounts.create(account("acc_1")).catch(told)).toBeInstanceOf(StoreBusy);
    expect(await store.ping().catch(told)).toBeInstanceOf(StoreBusy);
    blocker.run("ROLLBACK");
    await store.ping();
    await store.close();
  });

  test("500 writes at once take no more than two commits", async () => {
    const commits: number[] = [];
    const store = openSqliteStore({ path: newPath(), onCommit: (writes) => void commits.push(writes) });
    await Promise.all(Array.from({ length: 500 }, (_, n) => store.accounts.create(account(`acc_${n}`))));
    expect(commits).toEqual([256, 244]);
    await store.close();
  });
});
