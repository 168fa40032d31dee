// The books of the metered proxy: a guarded hold before each call and its settlement in double entry afterwards, each on
// disk before anybody goes on, with whatever the same turn of the event loop brings in one commit.

import { Database } from "bun:sqlite";

export interface Books {
  /** False when the account or its budget does not cover it. */
  readonly hold: (hold: Hold) => Promise<boolean>;
  readonly settle: (settlement: Settlement) => Promise<void>;
}

interface Hold {
  readonly callId: string;
  readonly account: number;
  readonly model: string;
  readonly heldMicros: number;
  readonly atMs: number;
}

interface Settlement {
  readonly callId: string;
  readonly account: number;
  readonly heldMicros: number;
  readonly chargedMicros: number;
  readonly input: number;
  readonly output: number;
  readonly atMs: number;
}

const plentyMicros = 1_000_000_000_000;

export function openBooks(path: string, accounts: number): Books {
  const db = new Database(path, { create: true, strict: true });
  for (const setting of ["journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 1000"])
    db.run(`PRAGMA ${setting}`);
  db.run(tables);
  for (let account = 0; account < accounts; account++) {
    db.run("INSERT INTO account VALUES (?1, ?2, 0)", [account, plentyMicros]);
    db.run("INSERT INTO budget VALUES (?1, ?2, 0, 0)", [account, plentyMicros]);
  }
  const sql = prepare(db);
  const commitTogether = createCommits(db);

  return {
    hold: ({ callId, account, model, heldMicros, atMs }) =>
      commitTogether(() => {
        if (sql.holdAccount.run(heldMicros, account).changes === 0) return false;
        if (sql.holdBudget.run(heldMicros, account).changes === 0)
          throw new Error("No budget is smaller here than its account.");
        sql.insertCall.run(callId, account, model, heldMicros, atMs);
        return true;
      }),
    settle: ({ callId, account, heldMicros, chargedMicros, input, output, atMs }) =>
      commitTogether(() => {
        sql.endCall.run(chargedMicros, JSON.stringify({ input, output }), atMs, callId);
        sql.moveAccount.run(chargedMicros, heldMicros, account);
        sql.moveBudget.run(chargedMicros, heldMicros, account);
        sql.insertEntries.run(callId, `account ${account}`, chargedMicros);
        sql.addUsage.run(Math.floor(atMs / 60_000), account, input, output, chargedMicros);
      }),
  };
}

/** What is queued until the event loop has nothing else to do in this turn is one transaction, with one fsync. */
function createCommits(db: Database): <Result>(write: () => Result) => Promise<Result> {
  const begin = db.query("BEGIN IMMEDIATE");
  const commit = db.query("COMMIT");
  let queue: { readonly write: () => void; readonly tell: () => void }[] = [];

  const flush = (): void => {
    const batch = queue;
    queue = [];
    begin.run();
    for (const { write } of batch) write();
    commit.run();
    for (const { tell } of batch) tell();
  };

  return <Result>(write: () => Result) =>
    new Promise<Result>((resolve) => {
      if (queue.length === 0) setImmediate(flush);
      let result: Result;
      queue.push({ write: () => (result = write()), tell: () => resolve(result) });
    });
}

const tables = `
  CREATE TABLE account (
    id INTEGER PRIMARY KEY, posted INTEGER NOT NULL, held INTEGER NOT NULL, CHECK (posted - held >= 0)) STRICT;
  CREATE TABLE budget (
    account INTEGER PRIMARY KEY, most INTEGER NOT NULL, spent INTEGER NOT NULL, held INTEGER NOT NULL) STRICT;
  CREATE TABLE call (
    id TEXT PRIMARY KEY, account INTEGER NOT NULL, model TEXT NOT NULL, held INTEGER NOT NULL, created_at INTEGER NOT NULL,
    charged INTEGER, used TEXT, settled_at INTEGER) STRICT, WITHOUT ROWID;
  CREATE TABLE entry (
    call TEXT NOT NULL, party TEXT NOT NULL, amount INTEGER NOT NULL, PRIMARY KEY (call, party)) STRICT, WITHOUT ROWID;
  CREATE TABLE usage (
    minute INTEGER NOT NULL, account INTEGER NOT NULL, calls INTEGER NOT NULL, input INTEGER NOT NULL,
    output INTEGER NOT NULL, charged INTEGER NOT NULL, PRIMARY KEY (minute, account)) STRICT, WITHOUT ROWID;
`;

const prepare = (db: Database) => ({
  holdAccount: db.query("UPDATE account SET held = held + ?1 WHERE id = ?2 AND posted - held >= ?1"),
  holdBudget: db.query("UPDATE budget SET held = held + ?1 WHERE account = ?2 AND spent + held + ?1 <= most"),
  insertCall: db.query("INSERT INTO call (id, account, model, held, created_at) VALUES (?1, ?2, ?3, ?4, ?5)"),
  endCall: db.query("UPDATE call SET charged = ?1, used = ?2, settled_at = ?3 WHERE id = ?4"),
  moveAccount: db.query("UPDATE account SET posted = posted - ?1, held = held - ?2 WHERE id = ?3"),
  moveBudget: db.query("UPDATE budget SET spent = spent + ?1, held = held - ?2 WHERE account = ?3"),
  insertEntries: db.query("INSERT INTO entry VALUES (?1, ?2, -?3), (?1, 'house', ?3)"),
  addUsage: db.query(
    `INSERT INTO usage VALUES (?1, ?2, 1, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET
     calls = calls + 1, input = input + excluded.input, output = output + excluded.output, charged = charged + excluded.charged`,
  ),
});
