// What the rows of sound books say about each other, in SQL that every store understands.

import type { TokenTotals } from "../prices/quantities.ts";
import { allTokenUnits } from "../prices/token-units.ts";
import { bucketFigures, bucketWidthsSeconds } from "./usage-buckets.ts";

/** Lists what breaks the rule: who (`subject`), and how (`detail`). */
export interface AuditRule {
  readonly name: string;
  readonly violations: string;
}

/** What each store says in its own words. */
export interface AuditWords {
  /** Whether a call's `used` is anything but whole amounts by unit. */
  readonly isUnsoundUsed: string;
  /** The calls that have ended, as `quantity` reads them: one whose usage is unsound must not end the audit. */
  readonly endedCalls: string;
  /** How much of a unit one of the ended calls used; NULL for none. */
  readonly quantity: (unit: string) => string;
  /** The values of a group in a row. */
  readonly joined: (column: string, between: string) => string;
  /** The column that says in which day or window of its key's budget a call counts, in `call` and in `budget`. */
  readonly budgetStart: { readonly ofCall: string; readonly ofBudget: string };
  readonly grantDayStart: string;
}

/** Held money that no open call explains, or the other way round. */
export const unexplainedHolds = `
      SELECT account.id AS subject, 'held ' || held_micros || ', open calls hold ' || coalesce(total, 0) AS detail
      FROM account LEFT JOIN (
        SELECT account_id, sum(held_micros) AS total FROM call WHERE settled_at_ms IS NULL GROUP BY account_id
      ) AS open_calls ON account_id = account.id
      WHERE held_micros <> coalesce(total, 0)`;

export const auditRulesIn = (words: AuditWords): readonly AuditRule[] => [
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
      SELECT transfer_id AS subject, kind || ' between ' || ${words.joined("party", " and ")} AS detail
      FROM payment GROUP BY transfer_id, kind
      HAVING count(*) <> 2
         OR count(*) FILTER (WHERE party = CASE kind WHEN 'top_up' THEN 'house:cash' WHEN 'grant' THEN 'house:grants'
                                                     WHEN 'adjustment' THEN 'house:adjustments' ELSE '' END) <> 1
         OR count(*) FILTER (WHERE party NOT LIKE 'house:%') <> 1`,
  },
  {
    name: "a balance is the sum of its entries",
    violations: `
      SELECT account.id AS subject,
             'posted ' || posted_micros || ', entries sum to ' || coalesce(total, 0) AS detail
      FROM account LEFT JOIN (
        SELECT party, sum(amount_micros) AS total FROM entry GROUP BY party
      ) AS entries ON party = account.id
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
      ) AS top_ups ON party = account.id
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
      SELECT id AS subject,
             state || ' at ' || coalesce(CAST(settled_at_ms AS text), 'no time') || ', charged ' || charged_micros AS detail
      FROM call
      WHERE (state IN ('settled', 'released')) <> (settled_at_ms IS NOT NULL)
         OR (settled_at_ms IS NOT NULL) <> (outcome IS NOT NULL)
         OR (state <> 'settled' AND (charged_micros <> 0 OR written_off_micros <> 0 OR value_micros <> 0))`,
  },
  {
    name: "what a call used is whole amounts by unit",
    violations: `
      SELECT id AS subject, 'used ' || used AS detail FROM call
      WHERE ${words.isUnsoundUsed}`,
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
  ...bucketWidthsSeconds.map((width, index) => ({
    name: `the usage buckets of ${width} s are the sum of their calls`,
    violations: usageDifference(width, bucketWidthsSeconds[index - 1], words),
  })),
  {
    name: "a budget is the sum of its calls",
    violations: boundDifference("budget", {
      kept: `SELECT key_id AS subject, ${words.budgetStart.ofBudget} AS start_ms,
                    spent_micros - spent_before_micros AS spent_micros, held_micros FROM budget`,
      of: "key_id",
      startMs: words.budgetStart.ofCall,
    }),
  },
  {
    name: "what was spent before a budget is the sum of the calls that ended before it",
    violations: boundDifference("day before the budget", {
      kept: `SELECT key_id AS subject, ${words.budgetStart.ofBudget} AS start_ms,
                    spent_before_micros AS spent_micros, 0 AS held_micros FROM budget`,
      of: "key_id",
      startMs: `CASE WHEN ${words.budgetStart.ofCall} IS NULL AND key_id IN (SELECT id FROM key WHERE counts_days)
                     THEN settled_at_ms - settled_at_ms % 86400000 END`,
    }),
  },
  {
    name: "an open call of a key that has had a budget counts in it",
    violations: `
      SELECT call.id AS subject, 'counts in no day of ' || key_id AS detail FROM call JOIN key ON key.id = key_id
      WHERE settled_at_ms IS NULL AND ${words.budgetStart.ofCall} IS NULL AND counts_days`,
  },
  {
    name: "a grant's day is the sum of its calls",
    violations: boundDifference("day", {
      kept: `SELECT grant_id AS subject, ${words.grantDayStart} AS start_ms, spent_micros, held_micros FROM grant_day`,
      of: "grant_id",
      startMs: "CASE WHEN grant_id IS NOT NULL THEN created_at_ms - created_at_ms % 86400000 END",
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
      SELECT subject, start_ms, spent_micros, held_micros, 0 AS spent, 0 AS held FROM (${kept}) AS kept
      UNION ALL
      SELECT ${of}, ${startMs}, 0, 0, charged_micros, CASE WHEN settled_at_ms IS NULL THEN held_micros ELSE 0 END
      FROM call WHERE ${startMs} IS NOT NULL
    ) AS both_sides
    GROUP BY subject, start_ms HAVING sum(spent_micros) <> sum(spent) OR sum(held_micros) <> sum(held)`;
}

/**
 * The narrowest buckets are compared with the calls themselves, and all others with those one step narrower, which another
 * rule proves: so every call is read once, and not once for every width.
 */
function usageDifference(
  widthSeconds: number,
  narrowerSeconds: number | undefined,
  words: AuditWords,
): string {
  const isNarrowest = narrowerSeconds === undefined;
  const seconds = isNarrowest ? "settled_at_ms / 1000" : "start_seconds";
  const from = isNarrowest ? words.endedCalls : `usage_bucket WHERE width_seconds = ${narrowerSeconds}`;
  const figures = bucketFigures.map((figure) => (isNarrowest ? usageOfCall(words)[figure] : figure));
  return `
    WITH both_sides AS (
      SELECT account_id, key_id, start_seconds, 1 AS whole, 0 AS part, ${bucketFigures.join(", ")}
      FROM usage_bucket WHERE width_seconds = ${widthSeconds}
      UNION ALL
      SELECT account_id, key_id, ${seconds} - ${seconds} % ${widthSeconds}, 0, 1,
             ${figures.map((figure) => `-(${figure})`).join(", ")}
      FROM ${from}
    ), different AS (
      SELECT key_id, start_seconds, sum(whole) AS wholes, sum(part) AS parts FROM both_sides
      GROUP BY account_id, key_id, start_seconds
      HAVING sum(part) = 0 OR ${bucketFigures.map((figure) => `sum(${figure}) <> 0`).join(" OR ")}
    )
    SELECT key_id AS subject, 'bucket at ' || start_seconds || ' says what no calls say' AS detail
    FROM different WHERE wholes > 0
    UNION ALL
    SELECT key_id, 'calls at ' || start_seconds || ' are missing from their bucket'
    FROM different WHERE parts > 0`;
}

function usageOfCall({ quantity }: AuditWords): Record<(typeof bucketFigures)[number], string> {
  const tokens = (wanted: keyof TokenTotals): string =>
    allTokenUnits
      .filter(({ total }) => total === wanted)
      .map(({ unit }) => `coalesce(${quantity(unit)}, 0)`)
      .join(" + ");
  return {
    requests: "1",
    failed_requests: "CASE WHEN outcome <> 'succeeded' THEN 1 ELSE 0 END",
    input_tokens: tokens("input"),
    output_tokens: tokens("output"),
    cache_read_tokens: tokens("cacheRead"),
    cache_write_tokens: tokens("cacheWrite"),
    value_micros: "value_micros",
    charged_micros: "charged_micros",
  };
}
