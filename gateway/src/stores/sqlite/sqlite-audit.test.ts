import { afterAll, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { createTerminal } from "../../doors/cli/test-terminal.ts";
import type { AuditReport } from "../../ledger/audit.ts";
import { failureOf } from "../../ledger/conformance/shared-conformance.ts";
import { entry } from "../test-audit-corruptions.ts";
import { startMs } from "../test-audited-books.ts";
import { corruptions } from "./test-audit-corruptions.ts";
import { openAuditedBooks } from "./test-audited-books.ts";
import { openSqliteStore } from "./sqlite-store.ts";

const { folder, sound, tamperedWith, remove } = await openAuditedBooks();
afterAll(remove);

async function auditOf(path: string): Promise<AuditReport> {
  const store = openSqliteStore({ path });
  try {
    return await store.auditor.audit();
  } finally {
    await store.close();
  }
}

const terminalOn = (path: string) => createTerminal({ openStore: async () => openSqliteStore({ path }) });

describe("audit of sound books", () => {
  test("finds nothing, and says what it looked at", async () => {
    expect(await auditOf(sound)).toMatchObject({ accounts: 3, calls: 70, findings: [], truncated: false });
    expect(await terminalOn(sound).run("audit")).toMatchObject({ exitCode: 0, errors: [] });
  });

  test("the books contain what the corruptions corrupt", () => {
    const db = new Database(sound, { readonly: true });
    const count = (sql: string): unknown =>
      db.query<{ n: number }, []>(`SELECT count(*) AS n ${sql}`).get()?.n;
    expect(count("FROM entry WHERE kind = 'write_off'")).toBe(2);
    expect(count("FROM call WHERE state = 'released'")).toBe(3);
    expect(count("FROM call WHERE settled_at_ms IS NULL")).toBe(2);
    expect(count("FROM account WHERE charge_carry_atto > 0 AND value_carry_pico > 0")).toBe(2);
    expect(count("FROM budget")).toBe(2);
    db.close();
  });

  test("a copy is as sound as its original: tampering that changes nothing is not reported", async () => {
    expect((await auditOf(tamperedWith(["UPDATE account SET name = name"]))).findings).toEqual([]);
  });

  test("the books of a program cannot be tampered with in passing: payments and ended calls refuse to change", () => {
    const copy = join(folder, "guarded.db");
    copyFileSync(sound, copy);
    const db = new Database(copy, { readwrite: true });
    expect(() => db.run("UPDATE payment SET amount_micros = 1")).toThrow("append-only");
    expect(() => db.run("DELETE FROM payment")).toThrow("append-only");
    expect(() => db.run("UPDATE call SET charged_micros = 1 WHERE id = 'chat_1'")).toThrow("never changed");
    expect(() => db.run("DELETE FROM call WHERE id = 'chat_1'")).toThrow("never removed");
    db.close();
  });
});

describe("audit notices", () => {
  test.each(corruptions)("$name", async ({ sql, subject }) => {
    const copy = tamperedWith(sql);
    const report = await auditOf(copy);
    expect(report.findings.map((finding) => finding.subject)).toContain(subject);
    for (const { rule, detail } of report.findings) expect(rule !== "" && detail !== "").toBe(true);

    const shown = await terminalOn(copy).run("audit");
    expect(shown).toMatchObject({ exitCode: 1, errors: [] });
    expect(shown.out.some((line) => line.startsWith(`${subject}: `))).toBe(true);
    expect(shown.out.at(-1)).toBe("The books do not balance.");

    const json = await terminalOn(copy).run("audit", "--json");
    expect(json.exitCode).toBe(1);
    expect(JSON.parse(json.out[0] ?? "")).toMatchObject({ balanced: false, findings: report.findings });
  });
});

test("whoever knows the installation's secret is let in to audit a journal that cannot be posted", async () => {
  const copy = tamperedWith([]);
  const claiming = openSqliteStore({ path: copy });
  expect(await claiming.claimSecret("ours")).toBe(true);
  await claiming.close();
  const db = new Database(copy);
  db.run(`INSERT INTO journal (lines) VALUES ('[["end","nobody","0","0"]]')`);
  db.close();
  const store = openSqliteStore({ path: copy });
  expect(await store.claimSecret("ours")).toBe(true);
  expect(await store.claimSecret("another's")).toBe(false);
  const { findings } = await store.auditor.audit();
  const detail = "The journal names a call nobody that the books do not have.";
  expect(findings).toEqual([{ rule: "the journal can be posted", subject: "journal", detail }]);
  expect(await failureOf(store.ledger.beginRun(startMs))).toContain("The journal contradicts the books");
  await store.close();
});

test("a report with very many findings is cut, and says so", async () => {
  const many = Array.from({ length: 300 }, (_, n) => entry(`stray-${n}`, "adjustment", "acc_ghost", 1));
  const copy = tamperedWith(many);
  const report = await auditOf(copy);
  expect(report.findings).toHaveLength(200);
  expect(report.truncated).toBe(true);
  expect((await terminalOn(copy).run("audit")).out).toContain("There are more findings than these.");
});
