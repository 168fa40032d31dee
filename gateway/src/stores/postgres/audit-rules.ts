import { auditRulesIn, type AuditRule } from "../audit-rules.ts";
import { lostReferences, missingKeys, promiseBreaks } from "./audit-promises.ts";

// Whole amounts by unit as JSON.stringify writes them. A text that looks like this can be read as JSON; Postgres before 16
// has no other way to ask without failing. A limit to the digits would make the question three times as dear, so amounts
// are read as what has room for any of them.
const unit = String.raw`"[^"\\\u0001-\u001f]*"`;
const amount = "(?:0|[1-9][0-9]*)";
const wholeAmounts = String.raw`^\{(?:${unit}:${amount}(?:,${unit}:${amount})*)?\}$`;
const isSoundUsed = `used ~ '${wholeAmounts}' AND length(used) < 10000`;

/** A row whose usage cannot be read has a finding of its own; it must not end the audit. */
export const soundUsed = `CASE WHEN ${isSoundUsed} THEN used ELSE '{}' END`;

// Earlier programs counted a call of a month's budget at the first moment of the month, and one of a total at 0; their
// books may have been moved here. No date can be made of a moment beyond those that JavaScript knows.
const lastMomentMs = 8_640_000_000_000_000;
const monthStartMs = `
  CAST(extract(epoch FROM date_trunc('month', to_timestamp(least(greatest(created_at_ms, 0), ${lastMomentMs}) / 1000)
                                              AT TIME ZONE 'UTC')) * 1000 AS bigint)`;

export const auditRules: readonly AuditRule[] = [
  ...auditRulesIn({
    isUnsoundUsed: `NOT (${isSoundUsed})`,
    // OFFSET keeps the text from being read once for every unit.
    endedCalls: `
      call CROSS JOIN LATERAL (SELECT CAST(${soundUsed} AS jsonb) AS sound_used OFFSET 0) AS read
      WHERE settled_at_ms IS NOT NULL`,
    quantity: (of) => `CAST(sound_used ->> '${of}' AS numeric)`,
    joined: (column, between) => `string_agg(${column}, '${between}' ORDER BY ${column})`,
    budgetStart: { ofCall: "budget_day_start_ms", ofBudget: "day_start_ms" },
    grantDayStart: "day_start_ms",
  }),
  {
    name: "a call's key and grant are those of its account",
    violations: `
      SELECT call.id AS subject, 'call of ' || call.account_id || ', key of ' || key.account_id ||
             coalesce(', grant of ' || oauth_grant.account_id, '') AS detail
      FROM call JOIN key ON key.id = call.key_id LEFT JOIN oauth_grant ON oauth_grant.id = call.grant_id
      WHERE key.account_id <> call.account_id OR oauth_grant.account_id <> call.account_id`,
  },
  {
    name: "a call counts towards the budget of the day it was held in",
    violations: `
      SELECT id AS subject, 'held at ' || created_at_ms || ', counted in the day of ' || budget_day_start_ms AS detail
      FROM call WHERE CASE WHEN budget_day_start_ms IN (0, created_at_ms - created_at_ms % 86400000) THEN false
                           ELSE budget_day_start_ms <> ${monthStartMs} END`,
  },
  {
    name: "a call is that of a run that is known",
    violations: `
      SELECT call.id AS subject, 'run ' || run_id || ' is not known' AS detail
      FROM call LEFT JOIN run ON run.id = run_id WHERE run.id IS NULL`,
  },
  {
    name: "an idempotency key is that of a call of its account",
    violations: `
      SELECT call.id AS subject, 'call of ' || call.account_id || ', key of ' || claim.account_id AS detail
      FROM claim JOIN call ON call.id = call_id WHERE claim.account_id <> call.account_id`,
  },
  { name: "every reference is kept", violations: lostReferences },
  { name: "every row is as its table wants it", violations: promiseBreaks },
  { name: "no two rows can have one key", violations: missingKeys },
];
