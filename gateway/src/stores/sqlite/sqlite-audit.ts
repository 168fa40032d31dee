import type { Database } from "bun:sqlite";
import type { AuditReport, Auditor, Finding } from "../../ledger/audit.ts";
import { auditReportOf } from "../audit-report.ts";
import { chargeFindings } from "./audit-charges.ts";
import { auditRules } from "./audit-rules.ts";
import { BrokenJournal } from "./journal/journal.ts";
import type { PostedBooks } from "./journal/posted-books.ts";

export function createSqliteAuditor(db: Database, books: PostedBooks): Auditor {
  return {
    // Everything is looked at, which may take minutes; a server goes on writing meanwhile.
    audit: () =>
      books
        .readLong(() => audit(db, []))
        .catch((error: unknown) => {
          if (!(error instanceof BrokenJournal)) throw error;
          const finding = { rule: "the journal can be posted", subject: "journal", detail: error.why };
          return db.transaction(() => audit(db, [finding]))();
        }),
  };
}

function audit(db: Database, before: readonly Finding[]): AuditReport {
  const findings: Finding[] = [...before, ...fileFindings(db)];
  for (const rule of auditRules) {
    const rows = db.query<{ subject: string; detail: string }, []>(rule.violations).all();
    findings.push(...rows.map((row) => ({ rule: rule.name, subject: row.subject, detail: row.detail })));
  }
  findings.push(...chargeFindings(db));
  const looked = {
    accounts: countOf(db, "account"),
    calls: countOf(db, "call"),
    entries: countOf(db, "entry"),
  };
  return auditReportOf(looked, findings);
}

function fileFindings(db: Database): Finding[] {
  const integrity = db.query<{ integrity_check: string }, []>("PRAGMA integrity_check").all();
  const references = db.query<{ table: string; parent: string }, []>("PRAGMA foreign_key_check").all();
  return [
    ...integrity
      .filter((row) => row.integrity_check !== "ok")
      .map((row) => ({ rule: "the file is sound", subject: "file", detail: row.integrity_check })),
    ...references.map((row) => ({
      rule: "every reference is kept",
      subject: row.table,
      detail: `a row points to a missing ${row.parent}`,
    })),
  ];
}

function countOf(db: Database, table: "account" | "call" | "entry"): number {
  return Number(db.query<{ n: bigint }, []>(`SELECT count(*) AS n FROM ${table}`).get()?.n ?? 0n);
}
