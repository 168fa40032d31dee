import { SQL } from "bun";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { openTestDatabase, type TestDatabase } from "../../../../../test/services/postgres.ts";
import { openNode } from "../../../../../test/services/postgres-nodes.ts";
import { openDatabase, type Database } from "../server/database.ts";
import { migrate } from "./migrate.ts";
import { migrations } from "./migrations.ts";
import { auditBooks } from "../postgres-audit.ts";
import { postgresPlace } from "../postgres-place.ts";

/** As a later version would have them. */
const later = [...migrations, "ALTER TABLE account ADD COLUMN motto text"];

let database: TestDatabase;
let db: Database;
beforeEach(async () => {
  database = await openTestDatabase();
  db = openDatabase({ url: database.url, monotonicMs: () => performance.now() });
});
afterEach(async () => {
  await db.close();
  await database.drop();
});

async function hasMotto(): Promise<boolean> {
  const rows = await db.read(
    "SELECT 1 FROM information_schema.columns WHERE table_name = 'account' AND column_name = 'motto'",
  );
  return rows.length > 0;
}

test("data of an earlier version are brought forward, and those of a newer one refused in a sentence", async () => {
  expect(await migrate(db, 0)).toBeUndefined();
  expect(await migrate(db, 0, later)).toEqual({ from: migrations.length, to: later.length });
  expect(await migrate(db, 0, later)).toBeUndefined();
  expect(await hasMotto()).toBe(true);
  expect(await migrate(db, 0).catch(String)).toContain(
    `written by a newer Tollgate (schema ${later.length}; this program knows ${migrations.length})`,
  );
  const opened = await openNode({ url: database.url, name: "old_" }).catch(String);
  expect(opened).toContain("newer Tollgate");
});

test("a key of an earlier version counts what it spent without its budget, too", async () => {
  await migrate(db, 0, migrations.slice(0, 3));
  const ended = "'settled', 'succeeded'";
  await db.write(async (query) => {
    for (const statement of [
      `INSERT INTO account (id, name, tier, plan_multiplier_ppm, held_micros, posted_micros, created_at_ms)
         VALUES ('acc_1', 'one', 'free', 1000000, 40, 900, 1)`,
      `INSERT INTO key (id, account_id, name, scope, budget_micros, budget_window, created_at_ms)
         VALUES ('key_1', 'acc_1', 'k', 'key', 500, 'total', 1), ('key_2', 'acc_1', 'k', 'key', NULL, NULL, 1)`,
      "INSERT INTO budget VALUES ('key_1', 0, 60, 0)",
      `INSERT INTO call (id, account_id, key_id, operation_id, state, outcome, held_micros, charged_micros, price_version,
                         multiplier_ppm, budget_day_start_ms, run_id, created_at_ms, settled_at_ms)
         VALUES ('call_1', 'acc_1', 'key_1', 'sold', ${ended}, 100, 60, 'v', 1000000, 0, 1, 1000, 2000),
                ('call_2', 'acc_1', 'key_1', 'sold', ${ended}, 100, 5, 'v', 1000000, NULL, 1, 1000, 2000),
                ('call_3', 'acc_1', 'key_1', 'sold', ${ended}, 100, 20, 'v', 1000000, NULL, 1, 1000, 86400000),
                ('call_4', 'acc_1', 'key_1', 'sold', 'held', NULL, 40, 0, 'v', 1000000, NULL, 1, 86400001, NULL),
                ('call_5', 'acc_1', 'key_2', 'sold', ${ended}, 100, 15, 'v', 1000000, NULL, 1, 1000, 2000)`,
    ])
      await query(statement);
  });
  await migrate(db, 0);
  expect(await db.read("SELECT * FROM budget ORDER BY day_start_ms")).toEqual([
    { key_id: "key_1", day_start_ms: 0n, spent_micros: 65n, held_micros: 0n, spent_before_micros: 5n },
    {
      key_id: "key_1",
      day_start_ms: 86_400_000n,
      spent_micros: 20n,
      held_micros: 40n,
      spent_before_micros: 20n,
    },
  ]);
  const findings = (await auditBooks(db.read)).findings.filter(({ rule }) => rule.includes("budget"));
  expect(findings).toEqual([]);
});

test("under a node that serves nothing is changed, and once it has stopped everything", async () => {
  const deadAfterMs = 1_500;
  const node = await openNode({ url: database.url, name: "old_", deadAfterMs });
  try {
    expect(await migrate(db, deadAfterMs, later).catch(String)).toContain(
      "Nodes of an earlier version are serving (1).",
    );
    expect(await hasMotto()).toBe(false);
    await node.held(await node.openCaller());
    await node.store().ping();
  } finally {
    await node.store().close();
  }
  const startedMs = performance.now();
  await migrate(db, 60_000, later);
  expect(performance.now() - startedMs).toBeLessThan(30_000);
  expect(await hasMotto()).toBe(true);
});

test("a node that stood still meanwhile finds that it may not serve any more, and says so", async () => {
  // It shows itself every two seconds, and is not waited for that long.
  const node = await openNode({ url: database.url, name: "old_", deadAfterMs: 15_000 });
  try {
    const caller = await node.openCaller();
    await migrate(db, 100, later);
    expect(await node.store().ping().catch(String)).toContain("newer Tollgate");
    expect(await node.hold(caller).catch(() => "refused")).toBe("refused");
    const held = await db.read("SELECT 1 FROM call");
    expect(held).toEqual([]);
  } finally {
    await node.store().close();
  }
});

test("a database whose encoding lacks letters is refused by whoever looks at it or opens it, and left as it is", async () => {
  const latin = new URL(database.url);
  latin.pathname += "_latin";
  const sql = new SQL(database.url, { max: 1 });
  try {
    await sql.unsafe(
      `CREATE DATABASE ${latin.pathname.slice(1)} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C' LOCALE_PROVIDER libc`,
    );
    const place = postgresPlace(latin.href, () => performance.now());
    const said = `Error: ${place.name} cannot be used: its encoding is LATIN1; make it with ENCODING 'UTF8'.`;
    expect(await place.look().then(String, String)).toBe(said);
    expect(await place.openForPeople({ onBroughtForward: () => {} }).then(String, String)).toBe(said);
    expect(await place.hasData()).toBe(false);
  } finally {
    await sql.unsafe(`DROP DATABASE IF EXISTS ${latin.pathname.slice(1)}`);
    await sql.close();
  }
});
