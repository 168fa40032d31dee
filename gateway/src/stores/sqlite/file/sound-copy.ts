// What a backup and a restore do alike: they copy what a database says, and look whether it is whole.

import { closeSync, fsyncSync, openSync } from "node:fs";
import type { Database } from "bun:sqlite";
import { makePrivate } from "./private-files.ts";

export const copyInto = (db: Database, file: string): void =>
  makePrivate(() => void db.query("VACUUM INTO ?1").run(file));

export function checkSound(db: Database, file: string): void {
  const check = db.query<{ integrity_check: string }, []>("PRAGMA integrity_check").get();
  if (check?.integrity_check !== "ok") throw new Error(`${file} is damaged: ${check?.integrity_check}.`);
}

export function syncFile(file: string): void {
  const handle = openSync(file, "r+");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
