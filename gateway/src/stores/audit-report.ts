import type { AuditReport, Finding } from "../ledger/audit.ts";

/** Whoever has read so many looks at the books, and needs no longer list. */
export const findingsMax = 200;

export const auditReportOf = (
  looked: Pick<AuditReport, "accounts" | "calls" | "entries">,
  findings: readonly Finding[],
): AuditReport => ({
  ...looked,
  findings: findings.slice(0, findingsMax),
  truncated: findings.length > findingsMax,
});
