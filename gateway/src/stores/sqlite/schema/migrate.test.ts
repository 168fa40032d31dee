import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Store } from "../../../store/store.ts";
import { createTerms } from "../../../prices/terms.ts";
import { readUsage, type UsageFigures } from "../../../usage/usage-report.ts";
import { openDatabase } from "../file/database.ts";
import { migrate, schemaVersion, versionOf } from "./migrate.ts";
import { openSqliteStore } from "../sqlite-store.ts";

const terms = createTerms("sold", undefined, { units: 1_000_000n });
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-schema-"));
  folders.push(folder);
  return join(folder, "data", "tollgate.db");
}

const schemaOf = (db: Database): unknown[] =>
  db.query("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").all();

describe("the schema", () => {
  test("a fresh file gets the newest schema, in a folder made for it", () => {
    const db = openDatabase(newPath());
    expect(versionOf(db)).toBe(schemaVersion);
    expect(schemaOf(db).length).toBeGreaterThan(10);
    db.close();
  });

  test("a file that is opened again is left as it is", () => {
    const path = newPath();
    const first = openDatabase(path);
    const schema = schemaOf(first);
    first.run("INSERT INTO installation VALUES ('name', 'value')");
    first.close();
    const again = openDatabase(path);
    expect(schemaOf(again)).toEqual(schema);
    expect(again.query("SELECT value FROM installation").all()).toEqual([{ value: "value" }]);
    again.close();
  });

  test("a file of a newer program is refused in a sentence, and stays untouched", () => {
    const path = newPath();
    const newer = openDatabase(path);
    newer.run(`PRAGMA user_version = ${schemaVersion + 1}`);
    newer.close();
    const sentence = `written by a newer Tollgate (schema ${schemaVersion + 1}; this program knows ${schemaVersion})`;
    expect(() => openDatabase(path)).toThrow(sentence);
    const db = new Database(path);
    expect(db.query("PRAGMA user_version").get()).toEqual({ user_version: schemaVersion + 1 });
    db.close();
  });

  test("programs that open a fresh folder at the same moment all succeed", async () => {
    const path = newPath();
    const program = `import { openDatabase } from ${JSON.stringify(join(import.meta.dir, "../file/database.ts"))};
      openDatabase(process.argv[1]).close();`;
    const children = Array.from({ length: 6 }, () =>
      Bun.spawn([process.execPath, "-e", program, path], { stderr: "pipe" }),
    );
    const errors = await Promise.all(children.map((child) => new Response(child.stderr).text()));
    expect(errors.filter((text) => text !== "")).toEqual([]);
    expect(await Promise.all(children.map((child) => child.exited))).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test("a migration that another program ran meanwhile is not run again", () => {
    const path = newPath();
    const db = openDatabase(path);
    // A program that read the version just before the other one committed sees this.
    let reads = 0;
    const late: Database = Object.create(db, {
      query: {
        value: (sql: string) =>
          sql.includes("user_version") && reads++ === 0
            ? { get: () => ({ user_version: 0n }) }
            : db.query(sql),
      },
      transaction: { value: db.transaction.bind(db) },
      run: { value: db.run.bind(db) },
    }) as Database;
    expect(() => migrate(late)).not.toThrow();
    expect(versionOf(db)).toBe(schemaVersion);
    db.close();
  });
});

describe("a file of an earlier program", () => {
  /** What the first two schemas could hold: calls that ended, one that is open, money, usage, a budget, a key in use. */
  const data = `
    INSERT INTO account (id, name, tier, plan_multiplier_ppm, posted_micros, held_micros, created_at_ms)
      VALUES ('acc_1', 'one', 'free', 1000000, 940, 30, 1), ('acc_2', 'two', 'free', 1000000, 0, 0, 1);
    INSERT INTO key (id, account_id, name, scope, budget_micros, budget_window, created_at_ms)
      VALUES ('key_1', 'acc_1', 'k', 'key', 500, 'total', 1);
    INSERT INTO budget VALUES ('key_1', 0, 60, 30);
    INSERT INTO price VALUES ('${terms.version}', 'sold', NULL, '{"units":"1000000"}');
    INSERT INTO call (id, account_id, key_id, operation_id, state, outcome, held_micros, value_micros, charged_micros,
                      price_version, multiplier_ppm, budget_window_start_ms, used, usage_source, run_id, created_at_ms, settled_at_ms)
      VALUES ('call_1', 'acc_1', 'key_1', 'sold', 'settled', 'succeeded', 100, 60, 60, '${terms.version}', 1000000, 0, '{"units":60}', 'provider', 1, 1000, 2000),
             ('call_2', 'acc_1', 'key_1', 'sold', 'released', 'failed', 100, 0, 0, '${terms.version}', 1000000, 0, '{}', 'none', 1, 1000, 2000),
             ('call_3', 'acc_1', 'key_1', 'sold', 'held', NULL, 30, 0, 0, '${terms.version}', 1000000, 0, '{}', 'none', 1, 3000, NULL);
    INSERT INTO idempotency VALUES ('acc_1', x'01', x'02', 'call_1', 1000);
    INSERT INTO entry (transfer_id, kind, party, amount_micros, created_at_ms)
      VALUES ('g', 'grant', 'house:grants', -1000, 1), ('g', 'grant', 'acc_1', 1000, 1),
             ('call_1', 'charge', 'acc_1', -60, 2000), ('call_1', 'charge', 'house:revenue', 60, 2000);
    INSERT INTO usage_bucket
      SELECT 'acc_1', width, 2 - 2 % width, 'key_1', 2, 1, 0, 0, 0, 0, 60, 60
      FROM (SELECT 1 AS width UNION SELECT 60 UNION SELECT 86400);
    INSERT INTO run VALUES (1, 1);`;

  const callsIn = async (store: Store): Promise<string[]> => {
    const everything = { before: undefined, operationId: undefined, status: undefined, keyId: undefined };
    const { calls } = await store.calls.list("acc_1", { ...everything, limit: 10 });
    return calls.map(({ id, state }) => `${id} ${state}`);
  };

  const usageIn = async (store: Store): Promise<UsageFigures> => {
    const scope = { accountId: "acc_1", keyId: undefined };
    return (await readUsage(store.usage, scope, { startSeconds: 1, endSeconds: 86_400 })).totals;
  };

  test.each(Array.from({ length: schemaVersion - 1 }, (_, at) => at + 2))(
    "of schema %d is brought forward with everything in it",
    async (version) => {
      const path = oldFile(version, []);
      const store = openSqliteStore({ path });
      expect((await store.auditor.audit()).findings).toEqual([]);
      expect(await store.ledger.beginRun(5_000)).toMatchObject({ releasedCalls: 1, releasedMicros: 30n });
      expect(await callsIn(store)).toEqual(["call_3 released", "call_2 released", "call_1 settled"]);
      expect(await store.accounts.find("acc_1")).toMatchObject({ postedMicros: 940n, heldMicros: 0n });
      const claim = { keyHash: Uint8Array.of(1), fingerprint: Uint8Array.of(2) };
      expect(await store.ledger.findEarlier("acc_1", claim, 6_000)).toMatchObject({
        callId: "call_1",
        sameRequest: true,
      });
      expect(await store.keys.budgetUse("key_1", "total", 86_400_000)).toEqual({
        spentMicros: 60n,
        heldMicros: 0n,
      });
      expect(await usageIn(store)).toMatchObject({ requests: 3, failed_requests: 2, charged_micros_usd: 60 });
      expect((await store.auditor.audit()).findings).toEqual([]);
      await store.close();
    },
  );

  test("with calls that were never filed keeps their usage and their place in the list", async () => {
    const path = oldFile(7, [
      "DELETE FROM account_call",
      "DELETE FROM usage_bucket",
      ...["call_1", "call_2"].map(
        (id) =>
          `INSERT INTO daybook SELECT id, account_id, key_id, 2, 1, outcome <> 'succeeded', 0, 0, 0, 0, value_micros, charged_micros FROM call WHERE id = '${id}'`,
      ),
    ]);
    const store = openSqliteStore({ path });
    expect((await store.auditor.audit()).findings).toEqual([]);
    expect(await callsIn(store)).toEqual(["call_3 held", "call_2 released", "call_1 settled"]);
    expect(await usageIn(store)).toMatchObject({ requests: 2, failed_requests: 1, charged_micros_usd: 60 });
    await store.close();
  });

  test("whose key spent without its budget, too, counts all of it from the next run on", async () => {
    const ended = `state = 'settled', outcome = 'succeeded', value_micros = 25, charged_micros = 25, used = '{"units":25}',
                   usage_source = 'provider', settled_at_ms = 86400500`;
    const path = oldFile(15, [
      "UPDATE call SET budget_window_start_ms = NULL WHERE id = 'call_3'",
      `UPDATE call SET ${ended} WHERE id = 'call_3'`,
      "UPDATE budget SET held_micros = 0",
      "UPDATE account SET posted_micros = 915, held_micros = 0 WHERE id = 'acc_1'",
      `INSERT INTO unlisted (lists) VALUES ('{"acc_1":["call_3"]}')`,
      `INSERT INTO usage_bucket
         SELECT 'acc_1', width, 86400, 'key_1', 1, 0, 0, 0, 0, 0, 25, 25
         FROM (SELECT 1 AS width UNION SELECT 60 UNION SELECT 3600 UNION SELECT 86400)`,
      // One that was held without the budget, and that only the journal knows.
      `INSERT INTO journal (lines) VALUES ('[["held","call_4","acc_1","key_1","sold",null,"40","${terms.version}","1000000",null,null,"1",86400700]]')`,
    ]);
    const store = openSqliteStore({ path });
    expect((await store.auditor.audit()).findings).toEqual([]);
    expect(await store.ledger.beginRun(86_401_000)).toMatchObject({ releasedCalls: 1, releasedMicros: 40n });
    const day = await store.keys.budgetUse("key_1", "day", 86_400_000);
    expect(day).toEqual({ spentMicros: 25n, heldMicros: 0n });
    const total = await store.keys.budgetUse("key_1", "total", 86_400_000);
    expect(total).toEqual({ spentMicros: 85n, heldMicros: 0n });
    expect((await store.auditor.audit()).findings).toEqual([]);
    await store.close();
  });

  test("with an open question keeps it, expected to cost the most it may", async () => {
    const path = oldFile(11, [
      "INSERT INTO approval VALUES ('apr_1', 'acc_1', 'key_1', NULL, 'x', 1, 9000, NULL, NULL);",
      "INSERT INTO approval_item VALUES ('apr_1', 0, 'sold', x'00', 70, 'usually 1', '{}', NULL);",
    ]);
    const store = openSqliteStore({ path });
    expect(await store.approvals.find("apr_1", "acc_1")).toMatchObject({
      items: [{ capMicros: 70n, expectedMicros: 70n, summary: "{}", arguments: "{}", argumentsCut: false }],
    });
    await store.close();
  });

  test("whose entries contradict its calls is left as it is", () => {
    const path = oldFile(7, [
      `INSERT INTO entry (transfer_id, kind, party, amount_micros, created_at_ms)
       VALUES ('call_2', 'charge', 'acc_1', -5, 1), ('call_2', 'charge', 'house:revenue', 5, 1)`,
    ]);
    expect(() => openSqliteStore({ path })).toThrow("run_audit_before_this_update");
    const db = new Database(path, { safeIntegers: true });
    expect(versionOf(db)).toBe(7);
    db.close();
  });

  function oldFile(version: number, statements: readonly string[]): string {
    const path = newPath();
    mkdirSync(dirname(path), { recursive: true });
    const old = new Database(path, { safeIntegers: true });
    migrate(old, 2);
    old.run(data);
    migrate(old, version);
    expect(versionOf(old)).toBe(version);
    for (const statement of statements) old.run(statement);
    old.close();
    return path;
  }
});

describe("what is promised of every file", () => {
  test("it is opened with a write-ahead log, synced at each commit, and its references are checked", () => {
    const db = openDatabase(newPath());
    expect(db.query("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    expect(db.query("PRAGMA synchronous").get()).toEqual({ synchronous: 2n });
    expect(db.query("PRAGMA foreign_keys").get()).toEqual({ foreign_keys: 1n });
    db.close();
  });

  test("payments can be added, but neither changed nor removed", async () => {
    const path = newPath();
    const store = openSqliteStore({ path });
    const account = { id: "acc_1", name: "n", tier: "free", planMultiplierPpm: 1n, nowMs: 1 } as const;
    await store.accounts.create({ ...account, creditMicros: 7n });
    await store.close();
    const db = new Database(path);
    for (const sql of [
      "UPDATE payment SET amount_micros = 8 WHERE party = 'acc_1'",
      "UPDATE payment SET memo = 'x'",
      "DELETE FROM payment WHERE party = 'acc_1'",
      "DELETE FROM payment",
    ]) {
      expect(() => db.run(sql)).toThrow("append-only");
    }
    expect(db.query("SELECT sum(amount_micros) AS total, count(*) AS n FROM entry").get()).toEqual({
      total: 0,
      n: 2,
    });
    db.close();
  });

  test("the file itself refuses money that does not add up", async () => {
    const path = newPath();
    const store = openSqliteStore({ path });
    const account = { id: "acc_1", name: "n", tier: "free", planMultiplierPpm: 1n, nowMs: 1 } as const;
    await store.accounts.create({ ...account, creditMicros: 7n });
    await store.close();
    const db = new Database(path);
    for (const change of [
      "held_micros = 8",
      "held_micros = -1",
      "posted_micros = -1",
      "posted_micros = 1.5",
      "posted_micros = 'much'",
      "charge_carry_atto = 1000000000000",
      "value_carry_pico = -1",
    ]) {
      expect(() => db.run(`UPDATE account SET ${change}`)).toThrow(/CHECK constraint failed|cannot store/);
    }
    db.close();
  });
});
