/**
 * What the key ?1 spent and holds from ?2 to before ?3. Budgets are kept day by day, so that any window is the sum of its
 * days, and a key whose window changes has spent what it has spent. Earlier programs kept months and totals as one row
 * each, at the first moment of the month and at 0: such a row counts as if all of it were of that day.
 */
export const sumBudget = `
  SELECT coalesce(sum(spent_micros), 0) AS spent_micros, coalesce(sum(held_micros), 0) AS held_micros
  FROM budget WHERE key_id = ?1 AND window_start_ms >= ?2 AND window_start_ms < ?3`;
