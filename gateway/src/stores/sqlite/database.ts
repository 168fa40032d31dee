import { Database } from "bun:sqlite";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { migrate } from "./migrations.ts";

/** While opening, another process may be migrating the same file; wait for it. */
const openingTimeoutMs = 5_000;

/** Opens the file with the promises the ledger depends on: WAL, and an fsync in every commit. */
export function openDatabase(path: string): Database {
  mkdirSync(dirname(path), { recursive: true });
  const db = new Database(path, { create: true, readwrite: true, strict: true, safeIntegers: true });
  db.run(`PRAGMA busy_timeout = ${openingTimeoutMs}`);
  db.run("PRAGMA journal_mode = WAL");
  db.run("PRAGMA synchronous = FULL");
  db.run("PRAGMA foreign_keys = ON");
  db.run("PRAGMA wal_autocheckpoint = 4000");
  migrate(db);
  // From here on nobody blocks the event loop for a lock: the group commit waits for its turn by itself.
  db.run("PRAGMA busy_timeout = 0");
  return db;
}
