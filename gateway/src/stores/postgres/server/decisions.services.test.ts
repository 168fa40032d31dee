// A decision's writes and its commit are sent together; nothing of them may stay when any of them fails.

import { SQL } from "bun";
import { afterEach, expect, test } from "bun:test";
import { openTestDatabase } from "../../../../../test/services/postgres.ts";
import { unbound } from "../../../ledger/test-unbound.ts";
import { createTerms } from "../../../prices/terms.ts";
import { openDatabase, type Decision } from "./database.ts";
import type { Write } from "./transaction.ts";
import { migrate } from "../schema/migrate.ts";
import { openPostgresStore } from "../postgres-store.ts";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

const note = (text: string): Write => ({ statement: "INSERT INTO note VALUES ($1)", values: [text] });
const decided = (...writes: Write[]): Promise<Decision<string>> =>
  Promise.resolve({ result: "decided", writes });

test("what was decided is written together, and its result returned", async () => {
  const { db, notes } = await openNotes();
  expect(await db.decide(() => decided(note("one"), note("two")))).toBe("decided");
  expect(await notes()).toEqual(["one", "two"]);
});

test.each<[string, Write]>([
  ["breaks a rule of the table", note("one")],
  ["is no sentence", { statement: "INSERT INTO nowhere VALUES ($1)", values: ["two"] }],
  ["wrote less than it should have", { statement: "SELECT check_written(0, $1)", values: [1] }],
  ["is given what it cannot take", { statement: "INSERT INTO note SELECT $1::bigint", values: ["two"] }],
])("nothing is written when a statement %s, wherever it stands", async (_, wrong) => {
  const { db, notes } = await openNotes();
  await db.decide(() => decided(note("one")));
  const others = [note("three"), note("four"), { ...note("five"), statement: "INSERT INTO note SELECT $1" }];
  for (let at = 0; at <= others.length; at++) {
    const writes = others.toSpliced(at, 0, wrong);
    const failure = await db.decide(() => decided(...writes)).then(String, String);
    expect(failure).toMatch(/duplicate key|does not exist|took 0 of 1 rows|invalid input/);
    expect(await notes()).toEqual(["one"]);
  }
  await db.decide(() => decided(...others));
  expect(await notes()).toEqual(["one", "three", "four", "five"].toSorted());
});

test("a look that fails, or finds nothing to write, leaves nothing locked, and its connection as it was", async () => {
  const { db, sql } = await openNotes();
  const session = () =>
    db.decide(async (query) => ({ result: await query("SELECT pg_backend_pid() AS id"), writes: [] }));
  await db.decide(() => decided(note("one")));
  const before = await session();
  const lock = "SELECT * FROM note WHERE text = $1 FOR UPDATE";
  await db.decide(async (query) => {
    await query(lock, ["one"]);
    return decided();
  });
  const failed = db.decide(async (query): Promise<Decision<string>> => {
    await query(lock, ["one"]);
    throw new Error("found out");
  });
  expect(await failed.then(String, String)).toContain("found out");
  expect(await sql`SELECT * FROM note FOR UPDATE NOWAIT`.values()).toHaveLength(1);
  expect(await session()).toEqual(before);
});

test("a transaction that fails as it begins leaves its connection as it was", async () => {
  const { url, sql } = await openMigrated();
  await sql`CREATE TABLE trouble (words text)`;
  // What every transaction asks as it begins, in other words.
  await sql`
    CREATE FUNCTION current_setting(text) RETURNS text LANGUAGE plpgsql AS $$
      BEGIN
        IF EXISTS (SELECT FROM trouble) THEN RAISE EXCEPTION 'no settings today'; END IF;
        RETURN pg_catalog.current_setting($1);
      END $$`.simple();
  await sql.unsafe(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET search_path = public, pg_catalog`);
  const db = openDatabase({ url, connectionsMax: 1, monotonicMs: () => performance.now() });
  cleanUps.push(() => db.close());
  const session = () => db.write((query) => query("SELECT pg_backend_pid() AS id"));
  const before = await session();
  await sql`INSERT INTO trouble VALUES ('some')`;
  expect(await session().then(String, String)).toContain("no settings today");
  await sql`DELETE FROM trouble`;
  expect(await session()).toEqual(before);
});

test("in books that were just made, the end of a call looks at no other open call", async () => {
  const { url, sql } = await openMigrated();
  const store = await openPostgresStore({ url, connectionsMax: 2 });
  const terms = createTerms("chat", undefined, { call: 1n });
  await store.accounts.create({
    id: "acct",
    name: "acct",
    tier: "free",
    planMultiplierPpm: 1_000_000n,
    creditMicros: 1_000_000n,
    nowMs: 0,
  });
  await store.keys.issue({
    id: "key",
    accountId: "acct",
    name: "key",
    scope: "key",
    budget: undefined,
    expiresAtMs: undefined,
    secretHash: new Uint8Array(32),
    last4: "last",
    nowMs: 0,
  });
  await store.ledger.beginRun(0);
  await store.ledger.recordPrices([{ operationId: "chat", model: undefined, terms }]);
  const callIds = Array.from({ length: 400 }, (_, n) => `call_${String(n).padStart(3, "0")}`);
  const hold = (callId: string) =>
    store.ledger.hold({
      callId,
      accountId: "acct",
      keyId: "key",
      operationId: "chat",
      model: undefined,
      amountMicros: 1n,
      terms,
      multiplierPpm: 1_000_000n,
      createdAtMs: 1,
      ...unbound,
    });
  const end = (callId: string) =>
    store.ledger.release({
      callId,
      outcome: "failed",
      httpStatus: undefined,
      attempts: [],
      settledAtMs: 2,
    });
  // The first end is planned while hardly anything is there.
  const [first = "", ...others] = callIds;
  await hold(first);
  await end(first);
  await Promise.all(others.map(hold));
  const ended = others.slice(0, 100);
  for (const callId of ended) await end(callId);
  await store.close();

  const [row]: { looked: number }[] = await sql`
    SELECT (seq_tup_read + idx_tup_fetch)::int AS looked FROM pg_stat_user_tables WHERE relname = 'call'`;
  const looked = row?.looked ?? 0;
  expect(looked).toBeGreaterThan(ended.length);
  expect(looked).toBeLessThan(ended.length * 10);
});

async function openMigrated() {
  const { url, drop } = await openTestDatabase({ template: migrated });
  const sql = new SQL(url, { max: 1 });
  cleanUps.push(drop, () => sql.close());
  return { url, sql };
}

async function openNotes() {
  const { url, sql } = await openMigrated();
  await sql`CREATE TABLE note (text text PRIMARY KEY)`;
  const db = openDatabase({ url, monotonicMs: () => performance.now() });
  cleanUps.push(() => db.close());
  const notes = async (): Promise<string[]> => {
    const rows: { text: string }[] = await sql`SELECT text FROM note ORDER BY text COLLATE "C"`;
    return rows.map(({ text }) => text);
  };
  return { db, sql, notes };
}

async function migrated(url: string): Promise<void> {
  const db = openDatabase({ url, monotonicMs: () => performance.now() });
  await migrate(db, 0);
  await db.close();
}
