import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { failureOf } from "../../../ledger/conformance/shared-conformance.ts";
import { StoreBusy, StoreFull } from "../../../ledger/store-errors.ts";
import { expectWithin } from "../../../platform/test-within.ts";
import { openDatabase } from "./database.ts";
import { createGroupCommit } from "./group-commit.ts";
import { createLogSync } from "./log-sync.ts";
import { openSqliteStore } from "../sqlite-store.ts";

const folders: string[] = [];
const closers: (() => void)[] = [];

afterEach(() => {
  for (const close of closers.splice(0)) close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-commit-"));
  folders.push(folder);
  return join(folder, "test.db");
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A table of numbers behind a group commit, and a second connection that sees only what is on disk. */
function open({
  onFull = () => false,
  afterCommit = () => {},
  monotonicMs = () => performance.now(),
  beforeSync = () => {},
}: {
  onFull?: () => boolean;
  afterCommit?: () => void;
  monotonicMs?: () => number;
  beforeSync?: () => Promise<void> | void;
} = {}) {
  const path = newPath();
  const db = openDatabase(path);
  db.run("CREATE TABLE number (n INTEGER PRIMARY KEY) STRICT");
  const other = new Database(path, { readonly: true });
  const log = createLogSync(path);
  closers.push(
    () => other.close(),
    log.close,
    () => db.close(),
  );
  const commits: number[] = [];
  const events: string[] = [];
  const insert = db.query("INSERT INTO number VALUES (?1)");
  const group = createGroupCommit({
    db,
    monotonicMs,
    syncLog: async () => {
      events.push("sync");
      await beforeSync();
      await log.run();
      events.push("synced");
    },
    afterBegin: () => void events.push("begin"),
    beforeCommit: () => void events.push("before"),
    onRollback: () => void events.push("rollback"),
    onCommit: (writes) => {
      commits.push(writes);
      afterCommit();
    },
    onFull: () => onFull(),
    onBrokenDisk: () => void events.push("broken disk"),
    onLostRide: () => void events.push("lost ride"),
  });
  const seenByOthers = (): number[] =>
    other
      .query<{ n: number }, []>("SELECT n FROM number ORDER BY n")
      .all()
      .map(({ n }) => n);
  return { path, db, group, commits, events, seenByOthers, add: (n: number) => void insert.run(n) };
}

const failing = (): never => {
  throw new Error("this write is broken");
};

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
    await Bun.sleep(20);
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
    const blocker = new Database(path);
    closers.push(() => blocker.close());
    blocker.run("BEGIN IMMEDIATE");
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
        blocker.db = new Database(path);
        blocker.db.run("BEGIN IMMEDIATE");
      },
    });
    closers.push(() => blocker.db?.close());
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
    const blocker = new Database(path);
    closers.push(() => blocker.close());
    blocker.run("BEGIN IMMEDIATE");
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
  const blocker = new Database(path);
  closers.push(() => blocker.close());
  blocker.run("BEGIN IMMEDIATE");
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

test("a full disk is told as what it is", async () => {
  const { group } = open();
  const full = (): never => {
    throw Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" });
  };
  expect(await group.run(full).catch((error: unknown) => error)).toBeInstanceOf(StoreFull);
});

describe("a disk that breaks", () => {
  const brokenAt = (time: number): (() => void) => {
    let times = 0;
    return () => {
      if (++times === time) throw Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR_FSYNC" });
    };
  };
  const statuses = async (writes: readonly Promise<unknown>[]): Promise<string[]> =>
    (await Promise.allSettled(writes)).map(({ status }) => status);

  test("stops everything, at the first try or when each is tried alone", async () => {
    for (const [time, others] of [
      [1, () => {}],
      [2, failing],
    ] as const) {
      const { group, add, seenByOthers, events } = open();
      const breaks = brokenAt(time);
      const writes = [group.run(breaks), group.run(others), group.run(() => add(1)), group.run(() => add(2))];
      expect(await statuses(writes)).toEqual(writes.map(() => "rejected"));
      expect(events.filter((event) => event === "broken disk")).toHaveLength(1);
      expect(seenByOthers()).toEqual([]);
    }
  });

  test("stops everything when room was made on it and the next try breaks, and for a rider", async () => {
    const full = open({ onFull: () => true });
    let times = 0;
    const fills = (): void => {
      const code = ["SQLITE_FULL", "SQLITE_IOERR_FSYNC"][times++];
      if (code !== undefined) throw Object.assign(new Error("disk"), { code });
    };
    const writes = [full.group.run(fills), full.group.run(() => full.add(1))];
    expect(await statuses(writes)).toEqual(["rejected", "rejected"]);
    expect(full.events).toContain("broken disk");

    const ridden = open();
    ridden.group.ride(brokenAt(2));
    ridden.group.ride(failing);
    expect(await statuses([ridden.group.run(() => ridden.add(1))])).toEqual(["rejected"]);
    expect(ridden.events).toContain("broken disk");
    expect(ridden.seenByOthers()).toEqual([]);
  });
});

describe("a disk that is slow", () => {
  /** A clock that goes on by as much as the disk takes whenever it is asked, so that every commit seems to take that. */
  const openSlow = async (beforeSync: () => Promise<void> | void = () => {}) => {
    const disk = { takesMs: 2, nowMs: 0 };
    const opened = open({ monotonicMs: () => (disk.nowMs += disk.takesMs), beforeSync });
    for (const n of [1, 2, 3]) await opened.group.run(() => opened.add(n));
    expect(opened.events).not.toContain("sync");
    return { ...opened, disk };
  };
  const safetyOf = (db: Database): unknown => db.query("PRAGMA synchronous").get();
  const full = { synchronous: 2n };

  test("keeps nobody waiting but those who must know what is on it, and they do", async () => {
    const disk = Promise.withResolvers<void>();
    const { db, group, add, events, seenByOthers } = await openSlow(() => disk.promise);
    let isTold = false;
    const written = group.run(() => add(4)).then(() => (isTold = true));
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    expect(seenByOthers()).toEqual([1, 2, 3, 4]);
    expect([isTold, events.at(-1)]).toEqual([false, "sync"]);
    // Whatever else writes through the same connection, and does not know of this, waits for the disk.
    expect(safetyOf(db)).toEqual(full);
    disk.resolve();
    await written;
    expect(events.at(-1)).toBe("synced");
  });

  test("has one transaction at a time, which is for all who came meanwhile, riders too", async () => {
    const disk = Promise.withResolvers<void>();
    const { group, add, commits, events, seenByOthers } = await openSlow(() => disk.promise);
    const writes = [group.run(() => add(4))];
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    group.ride(() => add(5));
    // Longer than a rider waits to ride with somebody.
    await Bun.sleep(150);
    for (let n = 6; n < 10; n++) writes.push(group.run(() => add(n)));
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    expect(seenByOthers()).toEqual([1, 2, 3, 4]);
    disk.resolve();
    await Promise.all(writes);
    expect(seenByOthers()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(commits).toEqual([1, 1, 1, 1, 4]);
    expect(events.filter((event) => event.startsWith("sync"))).toEqual(["sync", "synced", "sync", "synced"]);
  });

  test("has a rider who came meanwhile ride alone when nobody else comes", async () => {
    const disk = Promise.withResolvers<void>();
    const { group, add, commits, seenByOthers } = await openSlow(() => disk.promise);
    const written = group.run(() => add(4));
    for (let turn = 0; turn < 20; turn++) await nextTurn();
    group.ride(() => add(5));
    await Bun.sleep(150);
    disk.resolve();
    await written;
    while (commits.length < 5) await nextTurn();
    expect(seenByOthers()).toEqual([1, 2, 3, 4, 5]);
  });

  test("and breaks stops everything, and nobody is told that anything was written", async () => {
    const { group, add, events } = await openSlow(() => {
      throw Object.assign(new Error("i/o error"), { code: "EIO" });
    });
    const results = await Promise.allSettled([group.run(() => add(4)), group.run(() => add(5))]);
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(events.filter((event) => event === "broken disk")).toHaveLength(1);
  });

  test("still has a write that throws fail alone, and is waited for in place then", async () => {
    const { db, group, add, seenByOthers } = await openSlow();
    const results = await Promise.allSettled([
      group.run(() => add(4)),
      group.run(failing),
      group.run(() => add(5)),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(seenByOthers()).toEqual([1, 2, 3, 4, 5]);
    expect(safetyOf(db)).toEqual(full);
  });

  test("and becomes quick is waited for in place again, which is looked for every ten seconds", async () => {
    const { group, add, events, disk } = await openSlow();
    const syncs = (): number => events.filter((event) => event === "sync").length;
    await group.run(() => add(4));
    expect(syncs()).toBe(1);
    disk.takesMs = 0;
    await group.run(() => add(5));
    expect(syncs()).toBe(2);
    disk.nowMs += 10_000;
    for (let n = 6; n < 10; n++) await group.run(() => add(n));
    expect(syncs()).toBe(2);
  });

  test("is slow again after one look that found it slow", async () => {
    const { group, add, events, disk } = await openSlow();
    disk.nowMs += 10_000;
    await group.run(() => add(4));
    expect(events).not.toContain("sync");
    await group.run(() => add(5));
    expect(events.at(-1)).toBe("synced");
  });

  test("once or twice is not slow", async () => {
    const disk = { takesMs: 0, nowMs: 0 };
    const { group, add, events } = open({ monotonicMs: () => (disk.nowMs += disk.takesMs) });
    for (let n = 0; n < 12; n++) {
      disk.takesMs = n % 3 === 2 ? 0 : 50;
      await group.run(() => add(n));
    }
    expect(events).not.toContain("sync");
  });
});

describe("a full disk", () => {
  test("rolls back, refuses, and is forgotten once there is room", async () => {
    const { db, group, seenByOthers } = open();
    db.run("CREATE TABLE filler (bytes BLOB NOT NULL) STRICT");
    const fill = db.query("INSERT INTO filler VALUES (zeroblob(100000))");
    const pages = Number(db.query<{ page_count: bigint }, []>("PRAGMA page_count").get()?.page_count ?? 0n);
    db.run(`PRAGMA max_page_count = ${pages + 4}`);
    const write = (n: number) =>
      group.run(() => {
        db.query("INSERT INTO number VALUES (?1)").run(n);
        fill.run();
      });

    expect(await failureOf(write(1))).toContain("full");
    const together = await Promise.allSettled([write(2), write(3)]);
    expect(together.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(seenByOthers()).toEqual([]);
    db.run("PRAGMA max_page_count = 100000");
    await write(4);
    expect(seenByOthers()).toEqual([4]);
  });

  test("costs nobody anything when room can be made", async () => {
    const { db, group, add, seenByOthers } = open({
      onFull: () => {
        db.run("PRAGMA max_page_count = 100000");
        return true;
      },
    });
    db.run("CREATE TABLE filler (bytes BLOB NOT NULL) STRICT");
    const pages = Number(db.query<{ page_count: bigint }, []>("PRAGMA page_count").get()?.page_count ?? 0n);
    db.run(`PRAGMA max_page_count = ${pages + 4}`);
    await Promise.all([
      group.run(() => add(1)),
      group.run(() => void db.query("INSERT INTO filler VALUES (zeroblob(100000))").run()),
    ]);
    expect(seenByOthers()).toEqual([1]);
  });

  test("fails what does not fit and keeps what does", async () => {
    const { db, group, add, seenByOthers } = open();
    db.run("CREATE TABLE filler (bytes BLOB NOT NULL) STRICT");
    const pages = Number(db.query<{ page_count: bigint }, []>("PRAGMA page_count").get()?.page_count ?? 0n);
    db.run(`PRAGMA max_page_count = ${pages + 4}`);
    const results = await Promise.allSettled([
      group.run(() => add(1)),
      group.run(() => void db.query("INSERT INTO filler VALUES (zeroblob(100000))").run()),
      group.run(() => add(2)),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(seenByOthers()).toEqual([1, 2]);
  });
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

  test("500 writes at once take no more than two commits", async () => {
    const commits: number[] = [];
    const store = openSqliteStore({ path: newPath(), onCommit: (writes) => void commits.push(writes) });
    await Promise.all(Array.from({ length: 500 }, (_, n) => store.accounts.create(account(`acc_${n}`))));
    expect(commits).toEqual([256, 244]);
    await store.close();
  });
});
