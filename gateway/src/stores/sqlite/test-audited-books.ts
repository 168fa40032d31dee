// For tests of the audit: the audited books in a file, and copies of it that somebody tampered with.

import { Database } from "bun:sqlite";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keepBooks } from "../test-audited-books.ts";
import { openSqliteStore } from "./sqlite-store.ts";

interface AuditedBooks {
  readonly folder: string;
  /** The books that nobody tampered with. */
  readonly sound: string;
  /** A copy of the sound books, changed behind the program's back as somebody with the file could. */
  readonly tamperedWith: (statements: readonly string[]) => string;
  readonly remove: () => void;
}

export async function openAuditedBooks(): Promise<AuditedBooks> {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-audit-"));
  const sound = join(folder, "sound.db");
  await keepBooks(async () => openSqliteStore({ path: sound }));
  let copies = 0;
  return {
    folder,
    sound,
    tamperedWith: (statements) => {
      const copy = join(folder, `copy-${copies++}.db`);
      copyFileSync(sound, copy);
      const db = new Database(copy, { readwrite: true });
      db.run("PRAGMA foreign_keys = OFF");
      db.run("PRAGMA ignore_check_constraints = ON");
      for (const trigger of [
        "payment_is_never_changed",
        "payment_is_never_removed",
        "ended_call_is_never_changed",
        "call_is_never_removed",
      ])
        db.run(`DROP TRIGGER ${trigger}`);
      for (const statement of statements) {
        if (db.run(statement).changes === 0) throw new Error(`Changed nothing: ${statement}`);
      }
      db.close();
      return copy;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
