// What the rows of sound books say about each other, in SQL.

import { bucketWidthsSeconds } from "../usage-buckets.ts";

/** Held money that no open call explains, or the other way round. */
export const unexplainedHolds = `
      SELECT account.id AS subject, 'held ' || held_micros || ', open calls hold ' || coalesce(total, 0) AS detail
      FROM account LEFT JOIN (
        SELECT account_id, sum(held_micros) AS total FROM call WHERE settled_at_ms IS NULL GROUP BY account_id
      ) ON account_id = account.id
      WHERE held_micros <> coalesce(total, 0)`;

/** A row whose usage cannot be read has a finding of its own; it must not end the audit. */
export const soundUsed = "iif(json_valid(used), used, '{}')";

/** Each query lists what breaks the rule: who, and how. */
export const auditRules: readonly { readonly name: string; readonly violations: string }[] = [
  {
    name: "the two sides of a payment sum to zero",
    violations: `
      SELECT transfer_id AS subject, kind || ' entries sum to ' || sum(amount_micros) AS detail
      FROM payment GROUP BY transfer_id, kind HAVING sum(amount_micros) <> 0`,
  },
  {
    name: "every payment belongs to an account or to the house",
    violations: `
      SELECT transfer_id AS subject, 'unknown party ' || party AS detail
      FROM payment WHERE party NOT LIKE 'house:%' AND party NOT IN (SELECT id FROM account)`,
  },
  {
    name: "a payment has two parties, and one is the house account of its kind",
    violations: `
      SELECT transfer_id AS subject, kind || ' between ' || group_concat(party, ' and ') AS detail
      FROM payment GROUP BY transfer_id, kind
      HAVING count(*) <> 2
         OR sum(party = CASE kind WHEN 'top_up' THEN 'house:cash' WHEN 'grant' THEN 'house:grants'
                                  WHEN 'adjustment' THEN 'house:adjustments' ELSE '' END) <> 1
         OR sum(party NOT LIKE 'house:%') <> 1`,
  },
  {
    name: "a balance is the sum of its entries",
    violations: `
      SELECT account.id AS subject,
             'posted ' || posted_micros || ', entries sum to ' || coalesce(total, 0) AS detail
      FROM account LEFT JOIN (SELECT party, sum(amount_micros) AS total FROM entry GROUP BY party) ON party = account.id
      WHERE posted_micros <> coalesce(total, 0)`,
  },
  {
    name: "what is held is the sum of open calls",
    violations: unexplainedHolds,
  },
  {
    name: "no account is oversold",
    violations: `
      SELECT id AS subject, 'posted ' || posted_micros || ', held ' || held_micros AS detail
      FROM account WHERE posted_micros - held_micros < 0 OR held_micros < 0`,
  },
  {
    name: "what was paid in is the sum of the top-ups",
    violations: `
      SELECT account.id AS subject,
             'topped up ' || topped_up_micros || ', entries sum to ' || coalesce(total, 0) AS detail
      FROM account LEFT JOIN (
        SELECT party, sum(amount_micros) AS total FROM payment WHERE kind = 'top_up' GROUP BY party
      ) ON party = account.id
      WHERE topped_up_micros <> coalesce(total, 0)`,
  },
  {
    name: "a charge lies between nothing and what was held",
    violations: `
      SELECT id AS subject, 'held ' || held_micros || ', charged ' || charged_micros AS detail
      FROM call WHERE charged_micros < 0 OR charged_micros > held_micros`,
  },
  {
    name: "a call ends once, and only a settled one charges",
    violations: `
      SELECT id AS subject, state || ' at ' || coalesce(settled_at_ms, 'no time') || ', charged ' || charged_micros AS detail
      FROM call
      WHERE (state IN ('settled', 'released')) <> (settled_at_ms IS NOT NULL)
         OR (settled_at_ms IS NOT NULL) <> (outcome IS NOT NULL)
         OR (state <> 'settled' AND (charged_micros <> 0 OR written_off_micros <> 0 OR value_micros <> 0))`,
  },
  {
    name: "what a call used is whole amounts by unit",
    violations: `
      SELECT id AS subject, 'used ' || used AS detail FROM call
      WHERE CASE WHEN NOT json_valid(used) THEN 1
                 WHEN json_type(used) <> 'object' THEN 1
                 ELSE EXISTS (SELECT 1 FROM json_each(used) WHERE type <> 'integer' OR atom < 0) END`,
  },
  {
    name: "a task is open exactly as long as its call",
    violations: `
      SELECT task.id AS subject, 'task ' || task.state || ', call ' || call.state AS detail
      FROM task JOIN call ON call.id = call_id
      WHERE (ended_at_ms IS NULL) <> (settled_at_ms IS NULL)
         OR (ended_at_ms IS NULL) <> (task.state IN ('CREATING', 'LOST', 'PENDING', 'RUNNING', 'UNKNOWN'))`,
  },
  {
    name: "a task belongs to the account and key of its call",
    violations: `
      SELECT task.id AS subject, 'task of ' || task.key_id || ', call of ' || call.key_id AS detail
      FROM task JOIN call ON call.id = call_id
      WHERE task.account_id <> call.account_id OR task.key_id <> call.key_id`,
  },
  {
    name: "only a task that succeeded or was cancelled is charged, and one that succeeded is settled",
    violations: `
      SELECT task.id AS subject, 'task ' || task.state || ', call ' || call.state || ', charged ' || charged_micros AS detail
      FROM task JOIN call ON call.id = call_id
      WHERE (charged_micros > 0 AND task.state NOT IN ('SUCCEEDED', 'CANCELED'))
         OR (task.state = 'SUCCEEDED' AND (call.state <> 'settled' OR outcome <> 'succeeded'))`,
  },
  {
    name: "a task that its vendor has said something about has the vendor's id, and no two have the same",
    violations: `
      SELECT id AS subject, state || ' without an id of the vendor''s' AS detail FROM task
      WHERE upstream_task_id IS NULL AND state NOT IN ('CREATING', 'LOST', 'REFUSED', 'EXPIRED')
      UNION ALL
      SELECT upstream || ' ' || upstream_task_id, count(*) || ' tasks with this id' FROM task
      WHERE upstream_task_id IS NOT NULL GROUP BY upstream, upstream_task_id HAVING count(*) > 1`,
  },
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
  ...bucketWidthsSeconds.map((width) => ({
    name: `the usage buckets of ${width} s are the sum of their calls`,
    violations: usageDifference(width),
  })),
  {
    name: "a budget is the sum of its calls",
    violations: boundDifference("budget", {
      kept: "SELECT key_id AS subject, window_start_ms AS start_ms, spent_micros, held_micros FROM budget",
      of: "key_id",
      startMs: "budget_window_start_ms",
    }),
  },
  {
    name: "a grant's day is the sum of its calls",
    violations: boundDifference("day", {
      kept: "SELECT grant_id AS subject, start_ms, spent_micros, held_micros FROM grant_day",
      of: "grant_id",
      startMs: "iif(grant_id IS NULL, NULL, created_at_ms - created_at_ms % 86400000)",
    }),
  },
];

/** Both sides are summed in one pass: joined, every bound would be looked for among all others. */
function boundDifference(
  name: string,
  { kept, of, startMs }: { readonly kept: string; readonly of: string; readonly startMs: string },
): string {
  return `
    SELECT subject, '${name} has ' || sum(spent_micros) || ' spent, ' || sum(held_micros) ||
           ' held; calls have ' || sum(spent) || ' and ' || sum(held) AS detail
    FROM (
      SELECT subject, start_ms, spent_micros, held_micros, 0 AS spent, 0 AS held FROM (${kept})
      UNION ALL
      SELECT ${of}, ${startMs}, 0, 0, charged_micros, iif(settled_at_ms IS NULL, held_micros, 0)
      FROM call WHERE ${startMs} IS NOT NULL
    )
    GROUP BY subject, start_ms HAVING sum(spent_micros) <> sum(spent) OR sum(held_micros) <> sum(held)`;
}

function usageDifference(widthSeconds: number): string {
  const figures =
    "requests, failed_requests, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, value_micros, charged_micros";
  const kept = `
    SELECT account_id, key_id, start_seconds, ${figures} FROM usage_bucket WHERE width_seconds = ${widthSeconds}`;
  const real = `
    SELECT account_id, key_id, settled_at_ms / 1000 - settled_at_ms / 1000 % ${widthSeconds} AS start_seconds,
           count(*) AS requests, sum(outcome <> 'succeeded') AS failed_requests,
           sum(coalesce(sound_used ->> '$.input_tokens', 0) + coalesce(sound_used ->> '$.input_audio_tokens', 0))
             AS input_tokens,
           sum(coalesce(sound_used ->> '$.output_tokens', 0) + coalesce(sound_used ->> '$.output_audio_tokens', 0))
             AS output_tokens,
           sum(coalesce(sound_used ->> '$.cache_read_tokens', 0) +
               coalesce(sound_used ->> '$.cache_read_audio_tokens', 0)) AS cache_read_tokens,
           sum(coalesce(sound_used ->> '$.cache_write_tokens', 0) + coalesce(sound_used ->> '$.cache_write_1h_tokens', 0))
             AS cache_write_tokens,
           sum(value_micros) AS value_micros, sum(charged_micros) AS charged_micros
    FROM (SELECT *, ${soundUsed} AS sound_used FROM call WHERE settled_at_ms IS NOT NULL) GROUP BY 1, 2, 3`;
  return `
    SELECT key_id AS subject, 'bucket at ' || start_seconds || ' says what no calls say' AS detail
    FROM (SELECT * FROM (${kept}) EXCEPT SELECT * FROM (${real}))
    UNION ALL
    SELECT key_id, 'calls at ' || start_seconds || ' are missing from their bucket'
    FROM (SELECT * FROM (${real}) EXCEPT SELECT * FROM (${kept}))`;
}
