import type { ApprovalClaim, ApprovalDenial } from "../approvals/approvals.ts";
import type { ApprovalUse } from "../approvals/check-approval.ts";
import { budgetSpan, budgetWindowStartMs, type BudgetSpan } from "../keys/budget-window.ts";
import type { Micros } from "../platform/money.ts";
import type { EarlierCall, HoldResult, IdempotencyClaim, WantedHold } from "./ledger.ts";

/** What was spent and is held within a bound: a key's budget in one window, a grant's in one day. */
export interface BoundStanding {
  spentMicros: Micros;
  heldMicros: Micros;
}

/** What a store knows at the moment a hold is decided. None of these may change until it is written. */
export interface HoldFacts {
  readonly findEarlier: (
    accountId: string,
    claim: IdempotencyClaim,
    nowMs: number,
  ) => EarlierCall | undefined;
  readonly countOpenTasks: (keyId: string) => number;
  readonly isGrantAlive: (grantId: string, nowMs: number) => boolean;
  /** Undefined when nobody has opened it. */
  readonly account: (accountId: string) =>
    | {
        readonly suspended: boolean;
        readonly postedMicros: Micros;
        readonly heldMicros: Micros;
      }
    | undefined;
  readonly budget: (keyId: string, span: BudgetSpan) => BoundStanding;
  readonly grantDay: (grantId: string, dayStartMs: number) => BoundStanding;
  readonly checkApproval: (claim: ApprovalClaim, use: ApprovalUse) => ApprovalDenial | undefined;
}

type WhyNotHeld = (request: WantedHold) => Exclude<HoldResult, { kind: "held" }> | undefined;

/** Every reason against a hold, in the order in which callers are told of them; the same in every store. */
export function createWhyNotHeld(facts: HoldFacts): WhyNotHeld {
  /** The first reason against the hold. Asking takes and writes nothing. */
  const whyNotHeld: WhyNotHeld = (request) => {
    const { amountMicros, accountId, keyId, budget, grant, createdAtMs } = request;
    const earlier = request.idempotency && facts.findEarlier(accountId, request.idempotency, createdAtMs);
    if (earlier) return { kind: "idempotency_conflict", earlier };
    if (request.task) {
      const { openMax } = request.task;
      if (facts.countOpenTasks(keyId) >= openMax) return { kind: "too_many_tasks", openMax };
    }
    if (grant && !facts.isGrantAlive(grant.id, createdAtMs)) return { kind: "grant_ended" };
    const account = facts.account(accountId);
    if (account?.suspended === true) return { kind: "account_suspended" };
    const availableMicros = account ? account.postedMicros - account.heldMicros : 0n;
    if (!account || availableMicros < amountMicros) return { kind: "insufficient_balance", availableMicros };
    if (budget) {
      const use = facts.budget(keyId, budgetSpan(budget.window, createdAtMs));
      if (!fits(use, amountMicros, budget.limitMicros))
        return { kind: "budget_exceeded", budget, ...figuresOf(use) };
    }
    if (grant) {
      const { perDayMicros } = grant;
      const use = facts.grantDay(grant.id, budgetWindowStartMs("day", createdAtMs));
      if (!fits(use, amountMicros, perDayMicros))
        return { kind: "grant_day_exceeded", perDayMicros, ...figuresOf(use) };
    }
    const reason = whyUnapproved(request);
    return reason && { kind: "approval_required", reason };
  };

  /** An approval that the call brings is used up even when none was needed, so that a replay of it is noticed. */
  const whyUnapproved = (request: WantedHold): "uncovered" | ApprovalDenial | undefined => {
    const { amountMicros, coveredMicros, approval } = request;
    if (approval) {
      return facts.checkApproval(approval, {
        ...request,
        grantId: request.grant?.id,
        nowMs: request.createdAtMs,
      });
    }
    return coveredMicros !== undefined && amountMicros > coveredMicros ? "uncovered" : undefined;
  };

  return whyNotHeld;
}

const fits = (use: BoundStanding, amountMicros: Micros, limitMicros: Micros): boolean =>
  use.spentMicros + use.heldMicros + amountMicros <= limitMicros;

const figuresOf = ({ spentMicros, heldMicros }: BoundStanding): BoundStanding => ({
  spentMicros,
  heldMicros,
});
