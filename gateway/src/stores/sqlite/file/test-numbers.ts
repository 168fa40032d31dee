// A table of numbers behind a group commit, for the tests of it.

import { Database } from "bun:sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../platform/clock.ts";
import { openDatabase } from "./database.ts";
import { createGroupCommit } from "./group-commit.ts";
import { createLogSync } from "./log-sync.ts";

interface Options {
  readonly onFull?: () => boolean;
  readonly afterCommit?: () => void;
  readonly monotonicMs?: () => number;
  readonly beforeSync?: () => Promise<void> | void;
}

export function createNumbers() {
  const folders: string[] = [];
  const closers: (() => void)[] = [];

  const newPath = (): string => {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-commit-"));
    folders.push(folder);
    return join(folder, "test.db");
  };

  /** The table, and a second connection that sees only what is on disk. */
  const open = ({
    onFull = () => false,
    afterCommit = () => {},
    monotonicMs = systemClock.monotonicMs,
    beforeSync = () => {},
  }: Options = {}) => {
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
  };

  return {
    newPath,
    open,
    /** Holds the write lock of such a file from now on, as another process would. */
    block: (path: string): Database => {
      const blocker = new Database(path);
      closers.push(() => blocker.close());
      blocker.run("BEGIN IMMEDIATE");
      return blocker;
    },
    closeAll: (): void => {
      for (const close of closers.splice(0)) close();
      for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export function failing(): never {
  throw new Error("this write is broken");
}
