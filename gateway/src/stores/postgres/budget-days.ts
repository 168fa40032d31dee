import { dayChargeOf, daysBeforeBudget, type DayCharge, type DayChargeRow } from "../days-before-budget.ts";
import { jsonOf } from "./server/json-rows.ts";
import type { Query } from "./server/query.ts";

/**
 * A key counts its days from its first budget on, and for ever. Before, nothing is written for it that nobody asks about. What
 * it has spent until then its usage says, by the days in which it was charged, and calls that have ended never change: in
 * those days it counts. Whoever asks has locked the key's account, so no call of it is held or ended meanwhile.
 */
export async function beginBudgetDays(query: Query, keyId: string): Promise<void> {
  const [key] = await query<{ account_id: string }>(
    "SELECT account_id FROM key WHERE id = $1 AND NOT counts_days",
    [keyId],
  );
  if (!key) return;
  const days = await chargedBefore(query, keyId, key.account_id);
  if (days.length > 0)
    await query(addSpent, [
      keyId,
      jsonOf(days.map((day) => ({ day: day.dayStartMs, charged_micros: `${day.chargedMicros}` }))),
    ]);
  await query(countOpen, [keyId]);
  await query("UPDATE key SET counts_days = true WHERE id = $1", [keyId]);
  // Other nodes have looked at the keys of this account, and look again.
  await query("UPDATE account SET budgets_begun = budgets_begun + 1 WHERE id = $1", [key.account_id]);
}

async function chargedBefore(query: Query, keyId: string, accountId: string): Promise<readonly DayCharge[]> {
  const usage = await query<DayChargeRow>(chargedByUsage, [accountId, keyId]);
  const [counted] = await query<{ spent_micros: bigint }>(
    "SELECT coalesce(sum(spent_micros), 0)::bigint AS spent_micros FROM budget WHERE key_id = $1",
    [keyId],
  );
  return (
    daysBeforeBudget(usage.map(dayChargeOf), counted?.spent_micros ?? 0n) ??
    (await query<DayChargeRow>(chargedByCalls, [accountId, keyId])).map(dayChargeOf)
  );
}

const chargedByUsage = `
  SELECT start_seconds * 1000 AS day_start_ms, charged_micros FROM usage_bucket
  WHERE account_id = $1 AND width_seconds = 86400 AND key_id = $2 AND charged_micros > 0`;

const chargedByCalls = `
  SELECT settled_at_ms - settled_at_ms % 86400000 AS day_start_ms, sum(charged_micros)::bigint AS charged_micros
  FROM call WHERE account_id = $1 AND key_id = $2 AND budget_day_start_ms IS NULL AND charged_micros > 0 GROUP BY 1`;

const addSpent = `
  INSERT INTO budget (key_id, day_start_ms, spent_micros, held_micros, spent_before_micros)
  SELECT $1, day, charged_micros, 0, charged_micros
  FROM json_to_recordset($2::text::json) AS given (day bigint, charged_micros bigint)
  ON CONFLICT (key_id, day_start_ms) DO UPDATE SET
    spent_micros = budget.spent_micros + excluded.spent_micros,
    spent_before_micros = budget.spent_before_micros + excluded.spent_before_micros`;

const countOpen = `
  WITH counted AS (
    UPDATE call SET budget_day_start_ms = created_at_ms - created_at_ms % 86400000
    WHERE key_id = $1 AND settled_at_ms IS NULL AND budget_day_start_ms IS NULL
    RETURNING key_id, budget_day_start_ms, held_micros
  )
  INSERT INTO budget (key_id, day_start_ms, spent_micros, held_micros)
  SELECT key_id, budget_day_start_ms, 0, sum(held_micros) FROM counted GROUP BY 1, 2
  ON CONFLICT (key_id, day_start_ms) DO UPDATE SET held_micros = budget.held_micros + excluded.held_micros`;
