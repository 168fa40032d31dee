import type { AuditReport, Auditor, Finding } from "../../ledger/audit.ts";
import { auditReportOf, findingsMax } from "../audit-report.ts";
import { chargeFindings } from "./audit-charges.ts";
import { auditRules } from "./audit-rules.ts";
import type { Database } from "./server/database.ts";
import type { Query } from "./server/query.ts";

export const createPostgresAuditor = (db: Database): Auditor => ({
  // Everything is looked at, which may take minutes; servers go on writing meanwhile.
  audit: () => db.readMoment(auditBooks, { isLong: true }),
});

export async function auditBooks(query: Query): Promise<AuditReport> {
  const findings: Finding[] = [];
  for (const rule of auditRules) {
    const rows = await query<{ subject: string; detail: string }>(
      `SELECT subject, detail FROM (${rule.violations}) AS found LIMIT ${findingsMax + 1}`,
    );
    findings.push(...rows.map((row) => ({ rule: rule.name, subject: row.subject, detail: row.detail })));
  }
  findings.push(...(await chargeFindings(query)));
  const looked = {
    accounts: await countOf(query, "account"),
    calls: await countOf(query, "call"),
    entries: await countOf(query, "entry"),
  };
  return auditReportOf(looked, findings);
}

async function countOf(query: Query, table: "account" | "call" | "entry"): Promise<number> {
  const [row] = await query<{ n: bigint }>(`SELECT count(*) AS n FROM ${table}`);
  return Number(row?.n ?? 0n);
}
