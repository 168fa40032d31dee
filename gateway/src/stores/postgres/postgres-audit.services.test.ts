import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { SQL } from "bun";
import { openTestDatabase } from "../../../../test/services/postgres.ts";
import type { AuditReport } from "../../ledger/audit.ts";
import { entry } from "../test-audit-corruptions.ts";
import { day, rerank, startMs } from "../test-audited-books.ts";
import { openDatabase as openFile } from "../sqlite/file/database.ts";
import { rowsOf } from "../sqlite/file/old-books.ts";
import { openAuditedBooks } from "../sqlite/test-audited-books.ts";
import { openSqliteStore } from "../sqlite/sqlite-store.ts";
import { corruptions } from "./test-audit-corruptions.ts";
import { promises, references } from "./audit-promises.ts";
import { openDatabase } from "./server/database.ts";
import { migrate } from "./schema/migrate.ts";
import { insertBooks } from "./server/new-books.ts";
import { createPostgresAuditor } from "./postgres-audit.ts";

const { sound, remove } = await openAuditedBooks();
afterAll(remove);

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

describe("audit of sound books", () => {
  test("finds nothing, and says what it looked at, as where the same books are in a file", async () => {
    const { auditor } = await openBooks();
    const report = await auditor.audit();
    expect(report).toMatchObject({ accounts: 3, calls: 70, findings: [], truncated: false });
    expect(report).toEqual(await auditOfFile());
  });

  test("a copy is as sound as its original: tampering that changes nothing is not reported", async () => {
    expect((await auditAfter(["UPDATE account SET name = name"])).findings).toEqual([]);
  });

  test("the books of a program cannot be tampered with in passing: payments and ended calls refuse to change", async () => {
    const { sql } = await openBooks();
    const refused = (statement: string): Promise<string> =>
      sql
        .unsafe(statement)
        .execute()
        .then(
          () => "nothing refused it",
          (error: Error) => error.message,
        );
    expect(await refused("UPDATE payment SET amount_micros = 1")).toContain("append-only");
    expect(await refused("DELETE FROM payment")).toContain("append-only");
    expect(await refused("UPDATE call SET charged_micros = 1 WHERE id = 'chat_1'")).toContain(
      "never changed",
    );
    expect(await refused("DELETE FROM call WHERE id = 'chat_1'")).toContain("never removed");
    for (const table of ["account", "key", "price", "run"])
      expect(await refused(`DELETE FROM ${table}`)).toContain("removed");
    expect(await refused("UPDATE price SET version = 'other'")).toContain("never changed");
    expect(await refused("UPDATE key SET id = 'other' WHERE id = 'key_a'")).toContain("never removed");
  });

  test("a task that is open keeps its call open when the run that made it has ended", async () => {
    const task = (callId: string, keyId: string): string => `
      INSERT INTO task (call_id, id, account_id, key_id, state, upstream, upstream_task_id, expected, created_at_ms,
                        asked_at_ms, next_poll_at_ms, deadline_at_ms)
      VALUES ('${callId}', 'task_${callId}', 'acc_a', '${keyId}', 'PENDING', 'vendor', '${callId}', '{}', 0, 0, 0, 0)`;
    const report = await auditAfter([
      task("open", "key_a"),
      task("open_day", "key_day"),
      `UPDATE run SET ended_at_ms = ${startMs + day}`,
    ]);
    expect(report.findings).toEqual([]);
  });

  test("one moment of the books is seen while others write", async () => {
    const { sql, auditor } = await openBooks();
    for (const statement of [
      entry("enough", "adjustment", "acc_empty", 1_000_000),
      entry("enough", "adjustment", "house:adjustments", -1_000_000),
      "UPDATE account SET posted_micros = 1000000 WHERE id = 'acc_empty'",
      `INSERT INTO key (id, account_id, name, scope, created_at_ms) VALUES ('key_e', 'acc_empty', 'E', 'key', 0)`,
    ])
      await sql.unsafe(statement);

    let done = false;
    let written = 0;
    const writing = (async () => {
      for (; !done; written++) {
        await sql.begin(async (transaction) => {
          for (const statement of halfMicroCall(written)) await transaction.unsafe(statement);
        });
      }
    })();
    const calls: number[] = [];
    for (let n = 0; n < 30; n++) {
      const report = await auditor.audit();
      expect(report.findings).toEqual([]);
      calls.push(report.calls);
    }
    done = true;
    await writing;
    // They did write meanwhile: hardly two audits saw the same books.
    expect(new Set(calls).size).toBeGreaterThan(15);
  });
});

describe("audit notices", () => {
  test.each(corruptions)("$name", async ({ sql, subject }) => {
    const { findings } = await auditAfter(sql);
    expect(findings.map((finding) => finding.subject)).toContain(subject);
    for (const { rule, detail } of findings) expect(rule !== "" && detail !== "").toBe(true);
  });

  test("a wrong charge, however many calls come before it", async () => {
    const { findings } = await auditAfter([
      `INSERT INTO call (id, account_id, key_id, operation_id, state, outcome, held_micros, value_micros, price_version,
                         multiplier_ppm, run_id, created_at_ms, settled_at_ms)
       SELECT 'many_' || lpad(CAST(n AS text), 6, '0'), 'acc_b', 'key_b', 'rerank.create', 'settled', 'succeeded', 0,
              CASE WHEN n = 12000 THEN 7 ELSE 0 END, '${rerank.version}', 1000000, 1, ${startMs}, ${startMs}
       FROM generate_series(1, 12000) AS n`,
    ]);
    expect(findings).toContainEqual({
      rule: "usage values are usage × recorded prices",
      subject: "many_012000",
      detail: "reported 7 micro-USD, usage × prices is 0 pico-USD",
    });
  });
});

test("a report with very many findings is cut, and says so", async () => {
  const many = Array.from({ length: 300 }, (_, n) => entry(`stray-${n}`, "adjustment", "acc_ghost", 1));
  const report = await auditAfter(many);
  expect(report.findings).toHaveLength(200);
  expect(report.truncated).toBe(true);
});

describe("what the audit asks of rows is what the schema promises", () => {
  test("of every reference between tables", async () => {
    const { sql } = await openBooks();
    const kept = await listed(
      sql,
      `SELECT concat_ws(' ', CAST(conrelid AS regclass), attname, CAST(confrelid AS regclass)) AS item
       FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
       WHERE contype = 'f' AND connamespace = CAST('public' AS regnamespace)`,
    );
    // These are looked at by whoever writes them, and what they name is never removed.
    const lookedAt = ["call", "claim"];
    const others = references.filter(([table]) => !lookedAt.includes(table));
    expect(others.map((row) => row.join(" ")).toSorted()).toEqual(kept);
  });

  test.each(promises)("of $table", async ({ table, keys, present, checks }) => {
    const { sql } = await openBooks();
    const never = await listed(
      sql,
      `SELECT attname AS item FROM pg_attribute
       WHERE attrelid = CAST('${table}' AS regclass) AND attnum > 0 AND attnotnull`,
    );
    expect(present.split(/,\s+/).toSorted()).toEqual(never);

    const unique = await listed(
      sql,
      `SELECT substring(pg_get_constraintdef(oid) FROM '\\((.*)\\)') AS item FROM pg_constraint
       WHERE conrelid = CAST('${table}' AS regclass) AND contype IN ('p', 'u')`,
    );
    expect(keys.toSorted()).toEqual(unique.map((columns) => columns.replaceAll('"', "")));

    // Whether a text is JSON cannot be asked without failing where it is not.
    const checksNow = `SELECT pg_get_constraintdef(oid) AS item FROM pg_constraint
      WHERE conrelid = CAST('${table}' AS regclass) AND contype = 'c' AND pg_get_constraintdef(oid) NOT LIKE '%json%'`;
    const made = await listed(sql, checksNow);
    for (const check of checks) await sql.unsafe(`ALTER TABLE ${table} ADD CHECK (${check})`);
    expect(await listed(sql, checksNow)).toEqual([...made, ...made].toSorted());
  });
});

/** A call worth half a micro, which every other one carries to the next. */
function halfMicroCall(n: number): string[] {
  const micros = n % 2;
  const sign = micros === 0 ? "+" : "-";
  return [
    `INSERT INTO call (id, account_id, key_id, operation_id, state, outcome, held_micros, value_micros, charged_micros,
                       price_version, multiplier_ppm, used, run_id, created_at_ms, settled_at_ms)
     VALUES ('half_${n}', 'acc_empty', 'key_e', 'rerank.create', 'settled', 'succeeded', 1, ${micros}, ${micros},
             '${rerank.version}', 1000000, '{"input_tokens":10}', 1, 0, 0)`,
    `UPDATE account SET posted_micros = posted_micros - ${micros},
                        charge_carry_atto = charge_carry_atto ${sign} 500000000000,
                        value_carry_pico = value_carry_pico ${sign} 500000 WHERE id = 'acc_empty'`,
    ...[1, 60, 3_600, 86_400].map(
      (width) => `
        INSERT INTO usage_bucket AS bucket
        VALUES ('acc_empty', ${width}, 0, 'key_e', 1, 0, 10, 0, 0, 0, ${micros}, ${micros})
        ON CONFLICT (account_id, width_seconds, start_seconds, key_id) DO UPDATE
        SET requests = bucket.requests + 1, input_tokens = bucket.input_tokens + 10,
            value_micros = bucket.value_micros + ${micros}, charged_micros = bucket.charged_micros + ${micros}`,
    ),
  ];
}

async function listed(sql: SQL, text: string): Promise<string[]> {
  const rows = await sql.unsafe<{ item: string }[]>(text);
  return rows.map(({ item }) => item).toSorted();
}

async function openBooks() {
  const { url, drop } = await openTestDatabase({ template: fillBooks });
  cleanUps.push(drop);
  const sql = new SQL(url, { max: 1 });
  cleanUps.push(() => sql.close());
  const db = openDatabase({ url, connectionsMax: 2, monotonicMs: () => performance.now() });
  cleanUps.push(() => db.close());
  return { sql, auditor: createPostgresAuditor(db) };
}

async function fillBooks(url: string): Promise<void> {
  // Whoever audits a file posts its journal first.
  expect((await auditOfFile()).findings).toEqual([]);
  const db = openDatabase({ url, monotonicMs: () => performance.now() });
  await migrate(db, 0);
  const file = openFile(sound);
  await db.write(async (query) => {
    await insertBooks(query, rowsOf(file), { name: "", endedAtMs: startMs + day, onProgress: () => {} });
    // Whoever keeps these books is still there.
    await query("UPDATE run SET ended_at_ms = NULL WHERE id = (SELECT max(id) FROM run)");
  });
  file.close();
  await db.close();
}

async function auditOfFile(): Promise<AuditReport> {
  const store = openSqliteStore({ path: sound });
  try {
    return await store.auditor.audit();
  } finally {
    await store.close();
  }
}

/** What the audit says of the books when somebody changed them behind the program's back, as whoever owns them can. */
async function auditAfter(statements: readonly string[]): Promise<AuditReport> {
  const { sql, auditor } = await openBooks();
  await sql.unsafe("SET session_replication_role = replica");
  await sql.unsafe(dropChecks);
  for (const statement of statements) {
    const { count } = await sql.unsafe<{ count: number | null }>(statement);
    if (count === 0 && !statement.startsWith("ALTER")) throw new Error(`Changed nothing: ${statement}`);
  }
  return auditor.audit();
}

const dropChecks = `
  DO $$
  DECLARE each record;
  BEGIN
    FOR each IN SELECT CAST(conrelid AS regclass) AS of, conname FROM pg_constraint
                WHERE contype = 'c' AND connamespace = CAST('public' AS regnamespace)
    LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', each.of, each.conname); END LOOP;
  END $$`;
