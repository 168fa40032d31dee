import { Database } from "bun:sqlite";
import type { SeenData } from "../../../store/seen-data.ts";
import { namingFile } from "./database.ts";
import { findSecret } from "../installation-rows.ts";
import { knownVersionOf, schemaVersion } from "../schema/migrate.ts";
import { checkNotMoved } from "./moved-mark.ts";

/** Undefined for a file in which nothing was begun yet; throws why it cannot be used. */
export function lookAtFile(path: string): SeenData | undefined {
  return namingFile(path, () => {
    // Whoever reads a log beside its file also writes: where each reader is.
    const db = new Database(path, { readwrite: true, safeIntegers: true });
    try {
      db.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
      const schema = knownVersionOf(db);
      if (schema === 0) return undefined;
      checkNotMoved(db, path);
      return { schema, schemaKnown: schemaVersion, fingerprint: findSecret(db) };
    } finally {
      db.close();
    }
  });
}

const busyTimeoutMs = 5_000;
