import { checkApproval, type ApprovalStanding } from "../../../approvals/check-approval.ts";
import type { HoldFacts } from "../../../ledger/why-not-held.ts";
import type { Micros } from "../../../platform/money.ts";
import type { ApprovalItemRow } from "./hold-rows.ts";

/** What people allowed, and which calls used it up. */
export interface ApprovalFacts extends Pick<HoldFacts, "checkApproval"> {
  /** Gives the call an item of an approval that was checked; says which. */
  readonly useApproval: (approvalId: string, digest: Uint8Array, callId: string) => number;
  /** Frees the item of an approval that the call has used. */
  readonly freeApproval: (approvalId: string, callId: string) => void;
}

interface Approval extends ApprovalStanding {
  readonly accountId: string;
  readonly items: {
    readonly position: number;
    readonly digest: Uint8Array;
    readonly capMicros: Micros;
    callId: string | undefined;
  }[];
}

export function approvalFactsOf(rows: readonly ApprovalItemRow[]): ApprovalFacts {
  const approvals = approvalsOf(rows);
  return {
    checkApproval: (claim, use) => {
      const approval = approvals.get(claim.id);
      return checkApproval(approval?.accountId === use.accountId ? approval : undefined, claim, use);
    },
    useApproval: (approvalId, digest, callId) => {
      const item = approvals
        .get(approvalId)
        ?.items.find((each) => each.callId === undefined && Buffer.compare(each.digest, digest) === 0);
      if (!item) throw new Error(`The approval ${approvalId} was checked, but is not there to be used.`);
      item.callId = callId;
      return item.position;
    },
    freeApproval: (approvalId, callId) => {
      for (const item of approvals.get(approvalId)?.items ?? [])
        if (item.callId === callId) item.callId = undefined;
    },
  };
}

function approvalsOf(rows: readonly ApprovalItemRow[]): Map<string, Approval> {
  const approvals = new Map<string, Approval>();
  for (const row of rows) {
    let approval = approvals.get(row.id);
    if (!approval) {
      approval = {
        accountId: row.account_id,
        keyId: row.key_id,
        grantId: row.grant_id ?? undefined,
        decision: row.decision ?? undefined,
        expiresAtMs: Number(row.expires_at_ms),
        items: [],
      };
      approvals.set(row.id, approval);
    }
    approval.items.push({
      position: Number(row.position),
      digest: row.digest,
      capMicros: row.cap_micros,
      callId: row.call_id ?? undefined,
    });
  }
  return approvals;
}
