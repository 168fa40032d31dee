import type { ApprovalDenial } from "../../approvals/approvals.ts";
import { budgetSpan } from "../../keys/budget-window.ts";
import type { HoldResult, WantedHold } from "../../ledger/ledger.ts";
import type { Micros } from "../../platform/money.ts";
import type { EarlierCalls } from "./earlier-calls.ts";
import type { LedgerStatements } from "./ledger-statements.ts";
import type { ApprovalUses } from "./sqlite-approvals.ts";
import type { BoundStanding, Standings } from "./standings.ts";
import { dayStartMs } from "./sums.ts";
import type { TaskRows } from "./task-rows.ts";

interface Parts {
  readonly sql: LedgerStatements;
  readonly earlierCalls: EarlierCalls;
  readonly standings: Standings;
  readonly tasks: TaskRows;
  readonly approvals: ApprovalUses;
}

type WhyNotHeld = (request: WantedHold) => Exclude<HoldResult, { kind: "held" }> | undefined;

/** Everything that can stand against a hold, in the order in which callers are told of it. */
export function createWhyNotHeld({ sql, earlierCalls, standings, tasks, approvals }: Parts): WhyNotHeld {
  /** The first thing that stands against the hold. Nothing is taken or written by asking. */
  const whyNotHeld: WhyNotHeld = (request) => {
    const { amountMicros, accountId, keyId, budget, grant, createdAtMs } = request;
    const earlier = request.idempotency && earlierCalls.find(accountId, request.idempotency, createdAtMs);
    if (earlier) return { kind: "idempotency_conflict", earlier };
    if (request.task) {
      const open = tasks.countOpen(keyId);
      if (open >= request.task.openMax) return { kind: "too_many_tasks", open };
    }
    if (grant && !sql.grantLives.get(grant.id, createdAtMs)) return { kind: "grant_ended" };
    const account = standings.account(accountId);
    if (account?.suspended === true) return { kind: "account_suspended" };
    const availableMicros = account ? account.postedMicros - account.heldMicros : 0n;
    if (!account || availableMicros < amountMicros) return { kind: "insufficient_balance", availableMicros };
    if (budget) {
      const use = standings.budget(keyId, budgetSpan(budget.window, createdAtMs));
      if (!fits(use, amountMicros, budget.limitMicros)) return { kind: "budget_exceeded", ...figuresOf(use) };
    }
    if (grant) {
      const use = standings.grantDay(grant.id, dayStartMs(createdAtMs));
      if (!fits(use, amountMicros, grant.perDayMicros)) return { kind: "grant_day_exceeded", ...use };
    }
    const reason = whyUnapproved(request);
    return reason && { kind: "approval_required", reason };
  };

  /** An approval that is brought is used up even when the call needed none: who replays it is told so. */
  const whyUnapproved = (request: WantedHold): "uncovered" | ApprovalDenial | undefined => {
    const { amountMicros, coveredMicros, approval } = request;
    if (approval) {
      return approvals.check(approval, {
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
