// The file in which shelves outlast the program. What was put is safe from a kill as soon as `put` returns, so nobody is
// told of anything that a killed program forgets; a machine that loses power may lose the last moments.

import { Database } from "bun:sqlite";

export interface ShelfFile {
  /** Made with the file, and the same for as long as there is the file. */
  readonly secret: string;
  /** The things of a shelf, in order of creation. */
  readonly load: (shelf: string) => readonly KeptThing[];
  readonly put: (shelf: string, kept: KeptThing) => void;
  readonly remove: (shelf: string, id: string) => void;
}

interface KeptThing {
  readonly id: string;
  readonly thing: unknown;
  readonly untilMs: number;
}

/** Counts up when things change their shape: a file of another layout is begun anew. */
const layout = 1;

/** Another program of ours may just be ending over the same file. */
const busyTimeoutMs = 5_000;

export function openShelfFile(path: string, nowMs: number): ShelfFile {
  const db = openPrivately(path);
  db.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
  db.run("PRAGMA journal_mode = WAL");
  db.run("PRAGMA synchronous = NORMAL");
  db.transaction(() => prepare(db, nowMs)).immediate();

  const load = db.query<{ id: string; thing: string; untilMs: number }, [string]>(
    "SELECT id, thing, until_ms AS untilMs FROM kept WHERE shelf = ? ORDER BY place",
  );
  const put = db.query<null, [string, string, string, number]>(
    `INSERT INTO kept (shelf, id, thing, until_ms) VALUES (?, ?, ?, ?)
     ON CONFLICT (shelf, id) DO UPDATE SET thing = excluded.thing, until_ms = excluded.until_ms`,
  );
  const remove = db.query<null, [string, string]>("DELETE FROM kept WHERE shelf = ? AND id = ?");

  return {
    secret: readSecret(db),
    load: (shelf) => load.all(shelf).map((row) => ({ ...row, thing: JSON.parse(row.thing) as unknown })),
    put: (shelf, { id, thing, untilMs }) => void put.run(shelf, id, JSON.stringify(thing), untilMs),
    remove: (shelf, id) => void remove.run(shelf, id),
  };
}

/** The secret and the platform's tokens are for their owner's eyes only; SQLite gives its log the rights of the file. */
function openPrivately(path: string): Database {
  const usualMask = process.umask(0o077);
  try {
    return new Database(path, { create: true, readwrite: true });
  } finally {
    process.umask(usualMask);
  }
}

function prepare(db: Database, nowMs: number): void {
  const found = db.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version;
  if (found !== layout) {
    db.run("DROP TABLE IF EXISTS secret");
    db.run("DROP TABLE IF EXISTS kept");
    db.run("CREATE TABLE secret (value TEXT NOT NULL)");
    db.run("INSERT INTO secret (value) VALUES (?)", [crypto.randomUUID()]);
    db.run(
      `CREATE TABLE kept (place INTEGER PRIMARY KEY, shelf TEXT NOT NULL, id TEXT NOT NULL, thing TEXT NOT NULL,
       until_ms REAL NOT NULL, UNIQUE (shelf, id))`,
    );
    db.run(`PRAGMA user_version = ${layout}`);
  }
  db.run("DELETE FROM kept WHERE until_ms <= ?", [nowMs]);
}

function readSecret(db: Database): string {
  const row = db.query<{ value: string }, []>("SELECT value FROM secret").get();
  if (row === null) throw new Error("the secret is missing");
  return row.value;
}
