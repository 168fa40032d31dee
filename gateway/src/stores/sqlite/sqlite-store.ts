import type { Database } from "bun:sqlite";
import type { Store } from "../../ledger/store.ts";
import { backUp } from "./backup.ts";
import { openDatabase } from "./database.ts";
import { createGroupCommit } from "./group-commit.ts";
import { createSqliteAccounts } from "./sqlite-accounts.ts";
import { createSqliteAuditor } from "./sqlite-audit.ts";
import { createSqliteCalls } from "./sqlite-calls.ts";
import { createSqliteKeys } from "./sqlite-keys.ts";
import { createSqliteLedger } from "./sqlite-ledger.ts";
import { createSqliteQuotas } from "./sqlite-quotas.ts";
import { createSqliteUsage } from "./sqlite-usage.ts";
import { createUsageBuckets } from "./usage-buckets.ts";

export interface SqliteStoreOptions {
  readonly path: string;
  readonly onCommit?: (writes: number) => void;
}

export function openSqliteStore({ path, onCommit = () => {} }: SqliteStoreOptions): Store {
  const db = openDatabase(path);
  const buckets = createUsageBuckets(db);
  const commits = createGroupCommit({
    db,
    beforeCommit: buckets.write,
    onRollback: buckets.forget,
    onCommit,
  });
  return {
    ledger: createSqliteLedger({ db, commits, buckets }),
    accounts: createSqliteAccounts(db, commits),
    keys: createSqliteKeys(db, commits),
    usage: createSqliteUsage(db),
    calls: createSqliteCalls(db),
    quotas: createSqliteQuotas(db, commits),
    auditor: createSqliteAuditor(db),
    claimSecret: async (fingerprint) => claimSecret(db, fingerprint),
    ping: async () => void db.query("SELECT 1").get(),
    backUp: async (file) => backUp(db, file),
    close: async () => {
      commits.flush();
      db.close();
    },
  };
}

function claimSecret(db: Database, fingerprint: string): boolean {
  db.query("INSERT INTO installation VALUES ('secret_fingerprint', ?1) ON CONFLICT DO NOTHING").run(
    fingerprint,
  );
  const row = db
    .query<{ value: string }, []>("SELECT value FROM installation WHERE name = 'secret_fingerprint'")
    .get();
  return row?.value === fingerprint;
}
