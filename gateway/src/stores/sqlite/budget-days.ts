import type { Database } from "bun:sqlite";
import type { TransitMap } from "../../platform/transit-map.ts";
import { dayChargeOf, daysBeforeBudget, type DayCharge, type DayChargeRow } from "../days-before-budget.ts";
import type { HeldCall } from "../held-call.ts";
import { dayStartMs } from "../sums.ts";

/**
 * A key counts its days from its first budget on, and for ever. Before, nothing is written for it that nobody asks about. What
 * it has spent until then its usage says, by the days in which it was charged, and calls that have ended never change: in
 * those days it counts.
 */
export interface BudgetDays {
  /** Everything is posted, and figures in memory are forgotten. */
  readonly begin: (keyId: string) => void;
  /** The same for keys of earlier programs, which counted calls as long as there was a budget. */
  readonly beginMissing: () => void;
}

export function createBudgetDays(db: Database, openCalls: TransitMap<HeldCall>): BudgetDays {
  const sql = prepare(db);

  const begin = (keyId: string): void => {
    const key = sql.uncounted.get(keyId);
    if (!key) return;
    for (const day of chargedBefore(keyId, key.account_id))
      sql.addSpent.run(keyId, day.dayStartMs, day.chargedMicros);
    sql.addHeld.run(keyId);
    sql.countOpen.run(keyId);
    sql.count.run(keyId);
    for (const call of openUncounted(keyId))
      openCalls.set(call.callId, { ...call, budgetDayMs: dayStartMs(call.createdAtMs) });
  };

  const openUncounted = (keyId: string): HeldCall[] =>
    openCalls
      .entries()
      .map(([, call]) => call)
      .filter((call) => call.keyId === keyId && call.budgetDayMs === null)
      .toArray();

  const chargedBefore = (keyId: string, accountId: string): readonly DayCharge[] => {
    const usage = sql.usage.all(accountId, keyId).map(dayChargeOf);
    const countedMicros = sql.counted.get(keyId)?.spent_micros ?? 0n;
    return daysBeforeBudget(usage, countedMicros) ?? sql.calls.all(accountId, keyId).map(dayChargeOf);
  };

  return {
    begin,
    beginMissing: () => {
      for (const { id } of sql.missing.all()) begin(id);
    },
  };
}

const dayOf = (column: string): string => `${column} - ${column} % 86400000`;

const isOpenUncounted = "key_id = ?1 AND settled_at_ms IS NULL AND budget_window_start_ms IS NULL";

function prepare(db: Database) {
  return {
    uncounted: db.query<{ account_id: string }, [string]>(
      "SELECT account_id FROM key WHERE id = ?1 AND counts_days = 0",
    ),
    missing: db.query<{ id: string }, []>(
      `SELECT id FROM key WHERE counts_days = 0
         AND (budget_micros IS NOT NULL OR EXISTS (SELECT 1 FROM budget WHERE key_id = key.id))`,
    ),
    count: db.query<never, [string]>("UPDATE key SET counts_days = 1 WHERE id = ?1"),
    counted: db.query<{ spent_micros: bigint }, [string]>(
      "SELECT coalesce(sum(spent_micros), 0) AS spent_micros FROM budget WHERE key_id = ?1",
    ),
    // Buckets are keyed by time first: from day to day, and in each to the key, instead of through those of all keys.
    usage: db.query<DayChargeRow, [string, string]>(
      `WITH RECURSIVE day (start) AS (
         SELECT min(start_seconds) FROM usage_bucket WHERE width_seconds = 86400 UNION ALL
         SELECT (SELECT min(start_seconds) FROM usage_bucket WHERE width_seconds = 86400 AND start_seconds > start)
         FROM day WHERE start IS NOT NULL
       )
       SELECT start_seconds * 1000 AS day_start_ms, charged_micros
       FROM day CROSS JOIN usage_bucket
         ON width_seconds = 86400 AND start_seconds = start AND account_id = ?1 AND key_id = ?2
       WHERE charged_micros > 0`,
    ),
    calls: db.query<DayChargeRow, [string, string]>(
      `SELECT ${dayOf("settled_at_ms")} AS day_start_ms, sum(charged_micros) AS charged_micros
       FROM (SELECT call_id FROM account_call WHERE account_id = ?1 UNION
             SELECT waiting.value FROM unlisted CROSS JOIN json_each(unlisted.lists, '$."' || ?1 || '"') AS waiting)
       CROSS JOIN call ON call.id = call_id
       WHERE key_id = ?2 AND budget_window_start_ms IS NULL AND charged_micros > 0 GROUP BY 1`,
    ),
    addSpent: db.query<never, [string, number, bigint]>(
      `INSERT INTO budget (key_id, window_start_ms, spent_micros, held_micros, spent_before_micros)
       VALUES (?1, ?2, ?3, 0, ?3)
       ON CONFLICT DO UPDATE SET spent_micros = spent_micros + ?3, spent_before_micros = spent_before_micros + ?3`,
    ),
    addHeld: db.query<never, [string]>(
      `INSERT INTO budget (key_id, window_start_ms, spent_micros, held_micros)
       SELECT key_id, ${dayOf("created_at_ms")}, 0, sum(held_micros) FROM call INDEXED BY call_open
       WHERE ${isOpenUncounted} GROUP BY 1, 2
       ON CONFLICT DO UPDATE SET held_micros = held_micros + excluded.held_micros`,
    ),
    countOpen: db.query<never, [string]>(
      `UPDATE call INDEXED BY call_open SET budget_window_start_ms = ${dayOf("created_at_ms")} WHERE ${isOpenUncounted}`,
    ),
  };
}
