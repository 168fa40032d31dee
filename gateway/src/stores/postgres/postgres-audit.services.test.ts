import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { SQL } from "bun";
import { openTestDatabase } from "../../../../test/services/postgres.ts";
import type { AuditReport } from "../../ledger/audit.ts";
import { entry } from "../audit-corruptions.ts";
import { day, rerank, startMs } from "../audited-books.ts";
import { openAuditedBooks } from "../sqlite/audited-books.ts";
import { openSqliteStore } from "../sqlite/sqlite-store.ts";
import { corruptions } from "./audit-corruptions.ts";
import { promises, references } from "./audit-promises.ts";
import { copyBooks } from "./copied-books.ts";
import { openDatabase } from "./database.ts";
import { migrate } from "./migrations.ts";
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
    expect((await auditAfter([])).findings).toEqual([]);
  });

  test("the books of a program cannot be tampered with in passing: payments and ended calls refuse to change", async () => {
    const { sql } = await openBooks();
    const refused = async (statement: string): Promise<string> =>
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
    let done = false;
    const writing = (async () => {
      for (let n = 0; !done; n++) {
        await sql.begin(async (transaction) => {
          await transaction.unsafe(entry(`while_${n}`, "adjustment", "acc_b", 5));
          await transaction.unsafe(entry(`while_${n}`, "adjustment", "house:adjustments", -5));
          await transaction.unsafe("UPDATE account SET posted_micros = posted_micros + 5 WHERE id = 'acc_b'");
        });
      }
    })();
    for (let n = 0; n < 10; n++) expect((await auditor.audit()).findings).toEqual([]);
    done = true;
    await writing;
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
    const kept = await sql
      .unsafe(
        `SELECT CAST(conrelid AS regclass) AS "table", attname AS "column", CAST(confrelid AS regclass) AS parent
         FROM pg_constraint JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
         WHERE contype = 'f' AND connamespace = CAST('public' AS regnamespace)`,
      )
      .values();
    // These are looked at by whoever writes them, and what they name is never removed.
    const written = ["call", "claim"];
    expect(kept.map((row: string[]) => row.join(" ")).toSorted()).toEqual(
      references
        .filter(([table]) => !written.includes(table))
        .map((row) => row.join(" "))
        .toSorted(),
    );
  });

  test.each(promises)("of $table", async ({ table, keys, present, checks }) => {
    const { sql } = await openBooks();
    const listed = async (text: string): Promise<string[]> =>
      (await sql.unsafe(text).values()).flat().toSorted();

    const never = await listed(
      `SELECT attname FROM pg_attribute
       WHERE attrelid = CAST('${table}' AS regclass) AND attnum > 0 AND attnotnull`,
    );
    expect(present.split(/,\s+/).toSorted()).toEqual(never);

    const unique = await listed(
      `SELECT substring(pg_get_constraintdef(oid) FROM '\\((.*)\\)') FROM pg_constraint
       WHERE conrelid = CAST('${table}' AS regclass) AND contype IN ('p', 'u')`,
    );
    expect(keys.toSorted()).toEqual(unique.map((columns) => columns.replaceAll('"', "")));

    // Whether a text is JSON cannot be asked without failing where it is not.
    const checksNow = `SELECT pg_get_constraintdef(oid) FROM pg_constraint
      WHERE conrelid = CAST('${table}' AS regclass) AND contype = 'c' AND pg_get_constraintdef(oid) NOT LIKE '%json%'`;
    const made = await listed(checksNow);
    for (const check of checks) await sql.unsafe(`ALTER TABLE ${table} ADD CHECK (${check})`);
    expect(await listed(checksNow)).toEqual([...made, ...made].toSorted());
  });
});

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
  await migrate(db);
  await copyBooks(sound, db);
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
    const { count } = await sql.unsafe(statement);
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
