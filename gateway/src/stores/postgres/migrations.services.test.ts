import { afterEach, beforeEach, expect, test } from "bun:test";
import { openTestDatabase, type TestDatabase } from "../../../../test/services/postgres.ts";
import { openNode } from "../../../../test/services/postgres-nodes.ts";
import { openDatabase, type Database } from "./database.ts";
import { migrate, migrations } from "./migrations.ts";

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

const hasMotto = async (): Promise<boolean> => {
  const rows = await db.read(
    "SELECT 1 FROM information_schema.columns WHERE table_name = 'account' AND column_name = 'motto'",
  );
  return rows.length > 0;
};

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
