import { SQL } from "bun";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { openTestDatabase, type TestDatabase } from "../../../../../test/services/postgres.ts";
import { migrate } from "../schema/migrate.ts";
import { openDatabase, type Database } from "../server/database.ts";
import { isAnythingLeft } from "./left-behind.ts";

const open = (url: string): Database =>
  openDatabase({ url, connectionsMax: 1, monotonicMs: () => performance.now() });

async function migrated(url: string): Promise<void> {
  const db = open(url);
  await migrate(db, 0);
  await db.close();
}

let database: TestDatabase;
let db: Database;
let sql: SQL;
beforeEach(async () => {
  database = await openTestDatabase({ template: migrated });
  db = open(database.url);
  sql = new SQL(database.url, { max: 1 });
});
afterEach(async () => {
  await Promise.all([db.close(), sql.close()]);
  await database.drop();
});

test("what ended runs left is found, wherever they stand among those that live, and what is of these is not", async () => {
  const ended = [true, true, false, true, false, false, true];
  for (const isEnded of ended)
    await sql`INSERT INTO run (started_at_ms, ended_at_ms) VALUES (1, ${isEnded ? 2 : null})`;
  for (const [at, isEnded] of ended.entries()) {
    await holdUnder(at + 1, 1);
    expect([at, await isAnythingLeft(db)]).toEqual([at, isEnded]);
    await endAll();
  }
  await sql`UPDATE run SET ended_at_ms = 2`;
  expect(await isAnythingLeft(db)).toBe(false);
  await holdUnder(4, 1);
  expect(await isAnythingLeft(db)).toBe(true);
});

test("who looks for it does not walk through what living nodes ended while a dump reads", async () => {
  await sql`INSERT INTO run (started_at_ms, ended_at_ms) VALUES (1, 2), (1, NULL), (1, 2), (1, NULL)`;
  const dump = new SQL(database.url, { max: 1 });
  try {
    await dump.begin("ISOLATION LEVEL REPEATABLE READ", async (reading) => {
      await reading`SELECT count(*) FROM call`;
      for (const runId of [2, 4]) await holdUnder(runId, 3_000);
      await endAll();
      await sql`ANALYZE`;
      const before = await walked();
      expect(await isAnythingLeft(db)).toBe(false);
      await db.read(tellNow);
      expect((await walked()) - before).toBeLessThan(100);
    });
  } finally {
    await dump.close();
  }
});

let calls = 0;

async function holdUnder(runId: number, count: number): Promise<void> {
  calls += count;
  await sql`
    INSERT INTO call (id, account_id, key_id, operation_id, state, held_micros, price_version, multiplier_ppm, run_id,
                      created_at_ms)
    SELECT 'call_' || n, 'acct', 'key', 'sold', 'held', 0, 'prices', 1000000, ${runId}, 0
    FROM generate_series(${calls - count + 1}::int, ${calls}::int) AS n`;
}

const endAll = () => sql`
  UPDATE call SET state = 'released', outcome = 'failed', settled_at_ms = 1 WHERE settled_at_ms IS NULL`;

/** A session tells what it read now and then, unless it is told to. */
const tellNow = "SELECT pg_stat_force_next_flush()";

/** How many calls everybody has looked at, in the table or in the index of open ones. */
async function walked(): Promise<number> {
  await sql.unsafe(tellNow);
  const [row]: { walked: number }[] = await sql`
    SELECT (seq_tup_read + idx_tup_read)::int AS walked
    FROM pg_stat_user_tables JOIN pg_stat_user_indexes USING (relid)
    WHERE pg_stat_user_tables.relname = 'call' AND indexrelname = 'call_open'`;
  return row?.walked ?? 0;
}
