import type { BudgetSpan } from "../../../keys/budget-window.ts";
import type { BoundStanding, HoldFacts } from "../../../ledger/why-not-held.ts";
import type { HeldCall } from "../../held-call.ts";
import { dayStartMs } from "../../sums.ts";
import type { BoundRow, GrantDayRow, WindowRow } from "./hold-rows.ts";

/** How the budgets of keys and the days of grants stand. */
export interface BoundFacts extends Pick<HoldFacts, "budget" | "grantDay"> {
  /** Moves every bound in which the call counts. */
  readonly moveBounds: (call: HeldCall, by: BoundStanding) => void;
}

interface Window extends BoundStanding, BudgetSpan {
  readonly keyId: string;
}

export function boundFactsOf(windows: readonly WindowRow[], grantDays: readonly GrantDayRow[]): BoundFacts {
  const budgets = Map.groupBy(windows.map(windowOf), ({ keyId }) => keyId);
  const days = new Map<string, BoundStanding>();
  for (const row of grantDays) days.set(dayName(row.grant_id, Number(row.day_start_ms)), boundOf(row));

  const grantDay = (grantId: string, startMs: number): BoundStanding => {
    const name = dayName(grantId, startMs);
    let day = days.get(name);
    if (!day) days.set(name, (day = { spentMicros: 0n, heldMicros: 0n }));
    return day;
  };

  return {
    budget: (keyId, { startMs, endMs }) => {
      const found = budgets
        .get(keyId)
        ?.find((window) => window.startMs === startMs && window.endMs === endMs);
      if (!found) throw new Error(`The budget of ${keyId} was not read.`);
      return found;
    },
    grantDay,
    moveBounds: (call, { spentMicros, heldMicros }) => {
      const bounds: BoundStanding[] = [];
      const { budgetDayMs } = call;
      if (budgetDayMs !== null) {
        for (const window of budgets.get(call.keyId) ?? [])
          if (window.startMs <= budgetDayMs && budgetDayMs < window.endMs) bounds.push(window);
      }
      if (call.grantId !== null) bounds.push(grantDay(call.grantId, dayStartMs(call.createdAtMs)));
      for (const bound of bounds) {
        bound.spentMicros += spentMicros;
        bound.heldMicros += heldMicros;
      }
    },
  };
}

const dayName = (grantId: string, startMs: number): string => `${grantId} ${startMs}`;

const boundOf = (row: BoundRow): BoundStanding => ({
  spentMicros: row.spent_micros,
  heldMicros: row.held_micros,
});

const windowOf = (row: WindowRow): Window => ({
  keyId: row.key_id,
  startMs: Number(row.start_ms),
  endMs: Number(row.end_ms),
  ...boundOf(row),
});
