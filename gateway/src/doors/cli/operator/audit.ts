import type { Finding } from "../../../ledger/audit.ts";
import { defineCommand } from "../command.ts";
import { withStore } from "../with-store.ts";

export const audit = defineCommand({
  words: ["audit"],
  summary: "proves the books from their own rows; exit code 1 if they do not balance",
  flags: {},
  run: async (_given, parts) => {
    const report = await withStore(parts, (store) => store.auditor.audit());
    const balanced = report.findings.length === 0;
    return {
      lines: [
        `Checked every account (${report.accounts}), call (${report.calls}) and entry (${report.entries}).`,
        ...report.findings.map(findingLine),
        ...(report.truncated ? ["There are more findings than these."] : []),
        balanced ? "The books balance." : "The books do not balance.",
      ],
      json: {
        balanced,
        accounts: report.accounts,
        calls: report.calls,
        entries: report.entries,
        findings: report.findings,
        truncated: report.truncated,
      },
      exitCode: balanced ? 0 : 1,
    };
  },
});

const findingLine = ({ rule, subject, detail }: Finding): string => `${subject}: ${detail} (broken: ${rule})`;
