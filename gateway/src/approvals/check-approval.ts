import type { Micros } from "../platform/money.ts";
import type { Approval, ApprovalClaim, ApprovalDenial } from "./approvals.ts";

/** The call that an approval is brought for. */
export interface ApprovalUse {
  readonly accountId: string;
  readonly keyId: string;
  readonly grantId: string | undefined;
  readonly amountMicros: Micros;
  readonly nowMs: number;
}

/** An approval of the account that calls, as the store has it. */
export interface ApprovalStanding extends Pick<Approval, "keyId" | "grantId" | "decision" | "expiresAtMs"> {
  readonly items: readonly Pick<Approval["items"][number], "digest" | "capMicros" | "callId">[];
}

/** Why a claim does not allow the call; undefined when it does. */
export function checkApproval(
  approval: ApprovalStanding | undefined,
  claim: ApprovalClaim,
  use: ApprovalUse,
): ApprovalDenial | undefined {
  if (!approval || approval.keyId !== use.keyId || approval.grantId !== use.grantId) return "unknown";
  const items = approval.items.filter((item) => Buffer.compare(item.digest, claim.digest) === 0);
  if (items.length === 0) return "unknown";
  const unused = items.find((item) => item.callId === undefined);
  // What was used stays used, whatever else could be said about it: a replay is told that it is one.
  if (!unused) return "used";
  if (approval.decision === "denied") return "denied";
  if (approval.expiresAtMs <= use.nowMs) return "expired";
  if (approval.decision !== "approved") return "undecided";
  return use.amountMicros > unused.capMicros ? "too_small" : undefined;
}
