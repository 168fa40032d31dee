// Disks that are full, break or take long, below a group commit.

import type { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { failureOf } from "../../../ledger/conformance/shared-conformance.ts";
import { StoreFull } from "../../../ledger/store-errors.ts";
import { createNumbers, failing, nextTurn } from "./test-numbers.ts";

const { open, closeAll } = createNumbers();
afterEach(closeAll);

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
