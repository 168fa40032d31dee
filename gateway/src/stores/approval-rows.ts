import type { Approval, NewApproval } from "../approvals/approvals.ts";
import { dayMs } from "../platform/utc-day.ts";

export interface ApprovalRow {
  id: string;
  account_id: string;
  key_id: string;
  grant_id: string | null;
  asker: string;
  created_at_ms: bigint;
  expires_at_ms: bigint;
  decision: "approved" | "denied" | null;
  decided_at_ms: bigint | null;
}

export interface ItemRow {
  operation_id: string;
  digest: Uint8Array;
  cap_micros: bigint;
  expected_micros: bigint;
  summary: string;
  arguments: string;
  /** A number in SQLite, which has no booleans. */
  arguments_cut: bigint | boolean;
  call_id: string | null;
}

export type ItemMarks = Pick<ItemRow, "digest" | "cap_micros" | "expected_micros">;

/** Answered and used or not, a question is forgotten this long after its time: from then on nobody knows it. */
export const approvalsKeptMs = dayMs;
export const approvalsForgottenAtOnce = 8;

/** The same calls at the same price: a yes to the one says yes to exactly the other. */
export const asksTheSame = (marks: readonly ItemMarks[], { items }: NewApproval): boolean =>
  marks.length === items.length &&
  items.every(({ digest, capMicros, expectedMicros }, at) => {
    const mark = marks[at];
    return (
      mark?.cap_micros === capMicros &&
      mark.expected_micros === expectedMicros &&
      Buffer.compare(mark.digest, digest) === 0
    );
  });

export const approvalOf = (row: ApprovalRow, items: readonly ItemRow[]): Approval => ({
  id: row.id,
  accountId: row.account_id,
  keyId: row.key_id,
  grantId: row.grant_id ?? undefined,
  asker: row.asker,
  items: items.map((item) => ({
    operationId: item.operation_id,
    digest: item.digest,
    capMicros: item.cap_micros,
    expectedMicros: item.expected_micros,
    summary: item.summary,
    arguments: item.arguments,
    argumentsCut: Boolean(item.arguments_cut),
    callId: item.call_id ?? undefined,
  })),
  createdAtMs: Number(row.created_at_ms),
  expiresAtMs: Number(row.expires_at_ms),
  decision: row.decision ?? undefined,
  decidedAtMs: row.decided_at_ms === null ? undefined : Number(row.decided_at_ms),
});
