import { auditRulesIn, type AuditRule } from "../audit-rules.ts";

/** A row whose usage cannot be read has a finding of its own; it must not end the audit. */
export const soundUsed = "iif(json_valid(used), used, '{}')";

export const auditRules: readonly AuditRule[] = [
  ...auditRulesIn({
    isUnsoundUsed: `
      CASE WHEN NOT json_valid(used) THEN 1
           WHEN json_type(used) <> 'object' THEN 1
           ELSE EXISTS (SELECT 1 FROM json_each(used) WHERE type <> 'integer' OR atom < 0) END`,
    endedCalls: `(SELECT *, ${soundUsed} AS sound_used FROM call WHERE settled_at_ms IS NOT NULL)`,
    quantity: (unit) => `sound_used ->> '$.${unit}'`,
    joined: (column, between) => `group_concat(${column}, '${between}')`,
    budgetStart: { ofCall: "budget_window_start_ms", ofBudget: "window_start_ms" },
    grantDayStart: "start_ms",
  }),
  {
    name: "an account's list names its ended calls, each once",
    violations: `
      WITH listed AS (SELECT account_id, call_id FROM listed_call)
      SELECT call_id AS subject, 'listed ' || count(*) || ' times' AS detail
      FROM listed GROUP BY call_id HAVING count(*) <> 1
      UNION ALL
      SELECT call_id, 'listed for ' || account_id || ', which has no such ended call'
      FROM (SELECT * FROM listed EXCEPT SELECT account_id, id FROM call WHERE settled_at_ms IS NOT NULL)
      UNION ALL
      SELECT id, 'missing from the list of ' || account_id
      FROM (SELECT account_id, id FROM call WHERE settled_at_ms IS NOT NULL EXCEPT SELECT * FROM listed)`,
  },
];
