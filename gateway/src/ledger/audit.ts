/** One thing in the books that does not add up. */
export interface Finding {
  readonly rule: string;
  readonly subject: string;
  readonly detail: string;
}

export interface AuditReport {
  readonly accounts: number;
  readonly calls: number;
  readonly entries: number;
  readonly findings: readonly Finding[];
  /** True when there were more findings than the report lists. */
  readonly truncated: boolean;
}

/** Proves the books from their own rows, trusting no stored sum. Reads one moment, also while a server writes. */
export interface Auditor {
  readonly audit: () => Promise<AuditReport>;
}
