// What the schema promises of the rows that money depends on, asked of the rows themselves: whoever can change a row can
// drop a constraint, too. A test compares these lists with the schema.

export interface TablePromises {
  readonly table: string;
  /** What no two rows have in common, by columns; the first column names a row in a finding. */
  readonly keys: readonly string[];
  /** The columns that are never empty. */
  readonly present: string;
  readonly checks: readonly string[];
}

export const promises: readonly TablePromises[] = [
  { table: "run", keys: ["id"], present: "id, started_at_ms, beats", checks: [] },
  {
    table: "account",
    keys: ["id"],
    present: `id, name, tier, plan_multiplier_ppm, suspended, posted_micros, held_micros, topped_up_micros,
              charge_carry_atto, value_carry_pico, budgets_begun, created_at_ms`,
    checks: [
      "tier IN ('free', 'starter', 'growth', 'enterprise')",
      "plan_multiplier_ppm >= 0",
      "held_micros >= 0",
      "topped_up_micros >= 0",
      "charge_carry_atto BETWEEN 0 AND 999999999999",
      "value_carry_pico BETWEEN 0 AND 999999",
      "rpm > 0",
      "tpm > 0",
      "concurrency > 0",
      "posted_micros - held_micros >= 0",
    ],
  },
  {
    table: "key",
    keys: ["id"],
    present: "id, account_id, name, scope, counts_days, created_at_ms",
    checks: [
      "scope IN ('key', 'account')",
      "budget_micros >= 0",
      "budget_window IN ('day', 'month', 'total')",
      "(budget_micros IS NULL) = (budget_window IS NULL)",
    ],
  },
  {
    table: "budget",
    keys: ["key_id, day_start_ms"],
    present: "key_id, day_start_ms, spent_micros, held_micros, spent_before_micros",
    checks: ["spent_micros >= 0", "held_micros >= 0", "spent_before_micros BETWEEN 0 AND spent_micros"],
  },
  { table: "price", keys: ["version"], present: "version, operation_id, unit_prices", checks: [] },
  {
    table: "oauth_grant",
    keys: ["id"],
    present: `id, account_id, key_id, client_id, client_name, redirect_host, scopes, per_call_micros, per_day_micros,
              created_at_ms, expires_at_ms`,
    checks: ["per_call_micros >= 0", "per_day_micros >= 0"],
  },
  {
    table: "grant_day",
    keys: ["grant_id, day_start_ms"],
    present: "grant_id, day_start_ms, spent_micros, held_micros",
    checks: ["spent_micros >= 0", "held_micros >= 0"],
  },
  {
    table: "call",
    keys: ["id"],
    present: `id, account_id, key_id, operation_id, state, held_micros, value_micros, charged_micros, written_off_micros,
              price_version, multiplier_ppm, used, usage_source, attempts, run_id, created_at_ms`,
    checks: [
      "state IN ('held', 'dispatched', 'settled', 'released', 'unknown')",
      "outcome IN ('succeeded', 'failed', 'unknown')",
      "held_micros >= 0",
      "value_micros >= 0",
      "written_off_micros >= 0",
      "multiplier_ppm >= 0",
      "usage_source IN ('provider', 'estimated', 'none')",
      "charged_micros BETWEEN 0 AND held_micros",
      "(state IN ('settled', 'released')) = (settled_at_ms IS NOT NULL)",
    ],
  },
  {
    table: "payment",
    keys: ["transfer_id, kind, party"],
    present: "transfer_id, kind, party, amount_micros, created_at_ms",
    checks: ["kind IN ('top_up', 'grant', 'adjustment')"],
  },
  {
    table: "usage_bucket",
    keys: ["account_id, width_seconds, start_seconds, key_id"],
    present: `account_id, width_seconds, start_seconds, key_id, requests, failed_requests, input_tokens, output_tokens,
              cache_read_tokens, cache_write_tokens, value_micros, charged_micros`,
    checks: ["width_seconds IN (1, 60, 3600, 86400)"],
  },
  {
    table: "claim",
    keys: ["account_id, key_hash"],
    present: "account_id, key_hash, fingerprint, call_id, created_at_ms",
    checks: [],
  },
  {
    table: "task",
    keys: ["id", "call_id"],
    present: `call_id, id, account_id, key_id, state, expected, attempts, created_at_ms, asked_at_ms, next_poll_at_ms,
              deadline_at_ms, lease_until_ms, fence, errors, missing`,
    checks: [
      `state IN ('CREATING', 'LOST', 'PENDING', 'RUNNING', 'UNKNOWN',
                 'SUCCEEDED', 'FAILED', 'CANCELED', 'EXPIRED', 'REFUSED')`,
      "(upstream IS NULL) = (upstream_task_id IS NULL)",
      "(ended_at_ms IS NULL) = (forget_at_ms IS NULL)",
    ],
  },
  {
    table: "approval",
    keys: ["id"],
    present: "id, account_id, key_id, asker, created_at_ms, expires_at_ms",
    checks: ["decision IN ('approved', 'denied')", "(decision IS NULL) = (decided_at_ms IS NULL)"],
  },
  {
    table: "approval_item",
    keys: ["approval_id, position"],
    present: `approval_id, position, operation_id, digest, cap_micros, expected_micros, summary, arguments, arguments_cut`,
    checks: ["cap_micros >= 0", "expected_micros >= 0"],
  },
];

/** Each reads its table once. As in a constraint, what cannot be said of an empty column is no break. */
export const promiseBreaks = promises
  .map(({ table, keys, present, checks }) => {
    const breaks = [
      { when: `num_nulls(${present}) > 0`, detail: "something is missing" },
      ...checks.map((check) => ({
        when: `(${check}) IS FALSE`,
        detail: `not so: ${check.replace(/\s+/g, " ")}`,
      })),
    ];
    const cases = breaks.map(({ when, detail }) => `WHEN ${when} THEN '${detail.replaceAll("'", "''")}'`);
    return `
      SELECT coalesce(CAST(${firstOf(keys)} AS text), 'a ${table}') AS subject,
             '${table}: ' || CASE ${cases.join(" ")} END AS detail
      FROM ${table} WHERE ${breaks.map(({ when }) => when).join(" OR ")}`;
  })
  .join(" UNION ALL ");

/** An index that keeps rows apart cannot be made, nor be valid, as long as two are alike. */
export const missingKeys = promises
  .flatMap(({ table, keys }) =>
    keys.map(
      (columns) => `
      SELECT '${table}' AS subject, 'two rows may have the same ${columns}' AS detail
      WHERE NOT EXISTS (
        SELECT FROM pg_index
        WHERE indrelid = to_regclass('${table}') AND indisunique AND indisvalid AND indpred IS NULL AND (
          SELECT array_agg(CAST(attname AS text)) FROM pg_attribute WHERE attrelid = indrelid AND attnum = ANY(indkey)
        ) <@ string_to_array('${columns}', ', '))`,
    ),
  )
  .join(" UNION ALL ");

/** Table and column, and the table that has what the column names. */
export const references: readonly (readonly [table: string, column: string, parent: string])[] = [
  ["key", "account_id", "account"],
  ["key_secret", "key_id", "key"],
  ["budget", "key_id", "key"],
  ["oauth_grant", "account_id", "account"],
  ["oauth_grant", "key_id", "key"],
  ["grant_day", "grant_id", "oauth_grant"],
  ["call", "account_id", "account"],
  ["call", "key_id", "key"],
  ["call", "price_version", "price"],
  ["call", "grant_id", "oauth_grant"],
  ["call", "run_id", "run"],
  ["claim", "account_id", "account"],
  ["claim", "call_id", "call"],
  ["task", "call_id", "call"],
  ["task", "account_id", "account"],
  ["task", "key_id", "key"],
  ["quota_application", "account_id", "account"],
  ["quota_application", "key_id", "key"],
  ["link_attempt", "key_id", "key"],
  ["link_attempt", "account_id", "account"],
  ["link", "key_id", "key"],
  ["link", "account_id", "account"],
  ["sign_in_record", "grant_id", "oauth_grant"],
  ["approval", "account_id", "account"],
  ["approval", "key_id", "key"],
  ["approval", "grant_id", "oauth_grant"],
  ["approval_item", "approval_id", "approval"],
  ["approval_item", "call_id", "call"],
];

export const lostReferences = references
  .map(
    ([table, column, parent]) => `
      SELECT '${table}' AS subject, count(*) || ' of ${column} point to a missing ${parent}' AS detail
      FROM ${table} WHERE ${column} IS NOT NULL
        AND NOT EXISTS (SELECT FROM ${parent} WHERE ${parent}.${parent === "price" ? "version" : "id"} = ${table}.${column})
      HAVING count(*) > 0`,
  )
  .join(" UNION ALL ");

function firstOf([key = ""]: readonly string[]): string {
  return key.split(",", 1)[0] ?? key;
}
