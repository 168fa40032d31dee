import { afterEach, beforeEach, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { migrate, schemaVersion } from "./migrations.ts";
import { takeServerLock } from "./server-lock.ts";
import { openSqliteStore } from "./sqlite-store.ts";

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "tollgate-database-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A database whose format SQLite may only read: read-only also for who may write all files. */
function makeSealed(file: string, prepare: (db: Database) => void): void {
  const db = new Database(file, { create: true, strict: true });
  prepare(db);
  db.close();
  const bytes = readFileSync(file);
  const writeVersionAt = 18;
  bytes[writeVersionAt] = 3;
  writeFileSync(file, bytes);
}

test("data that cannot be written is named, with what to look at", () => {
  const path = join(folder, "tollgate.db");
  makeSealed(path, (db) => migrate(db, schemaVersion - 1));
  expect(() => openSqliteStore({ path })).toThrow(
    `${path} cannot be written: attempt to write a readonly database. Is its folder read-only, or somebody else's?`,
  );
});

test("a lock that is none is not taken for one that somebody holds", () => {
  const path = join(folder, "tollgate.db.lock");
  const lock = takeServerLock(path);
  expect(takeServerLock(path)).toBeUndefined();
  lock?.release();
  writeFileSync(path, "something else that somebody put here".repeat(100));
  expect(() => takeServerLock(path)).toThrow(`${path} cannot be opened: file is not a database.`);
});
