// Writes many days of settled calls into a database with plain SQL, a day at a time, because ten million of them
// through the ledger take twenty minutes. Every row is the one that the ledger would have written for the same call:
// `history-writer.test.ts` books the same calls through its door and compares all tables, and asks the audit.

import type { Database } from "bun:sqlite";
import { createTerms } from "../../gateway/src/prices/terms.ts";
import { openDatabase } from "../../gateway/src/stores/sqlite/file/database.ts";

export const historyDays = 400;
const dayMs = 86_400_000;

/** What every call of a history has in common. */
const operationId = "chat.completions.create";
const model = "bench-model";
export const historyPrice = {
  operationId,
  model,
  // Whole micro-USD for every call below, so that nothing is carried from one to the next.
  terms: createTerms(operationId, model, { input_tokens: 2_500_000n, output_tokens: 10_000_000n }),
};
export const historyHold = { amountMicros: 10_000n, multiplierPpm: 1_000_000n };
/** From the hold of a call to its end. */
export const answeredAfterMs = 800;

export interface HistoryPlan {
  readonly calls: number;
  /** The first millisecond of a UTC day, so that the days of the history are those of the books. */
  readonly startMs: number;
  readonly owners: readonly { readonly accountId: string; readonly keyId: string }[];
}

/** Into the file of a closed store that has the owners, the price and its first run, and no calls. */
export function writeHistory(path: string, plan: HistoryPlan, onDay: (daysDone: number) => void): void {
  const { calls, startMs } = plan;
  if (startMs % dayMs !== 0) throw new Error("A history begins with a day.");
  // Ids sort as they were made, and they begin with their millisecond.
  if (calls > historyDays * dayMs) throw new Error("More calls than milliseconds.");
  const db = openDatabase(path);
  try {
    leaveSafetyToTheEnd(db);
    prepareWorkspace(db, plan);
    const steps = prepareSteps(db);
    for (let day = 0; day < historyDays; day++) {
      const first = Math.ceil((day * calls) / historyDays);
      const end = Math.ceil(((day + 1) * calls) / historyDays);
      if (end > first) db.transaction(() => writeDay(steps, { first, end, ...plan }))();
      onDay(day + 1);
    }
    db.run("PRAGMA journal_mode = WAL");
  } finally {
    db.close();
  }
}

/** Nobody else reads the file meanwhile, and half a history is thrown away, so no write waits for the disk. */
function leaveSafetyToTheEnd(db: Database): void {
  db.run("PRAGMA journal_mode = DELETE");
  db.run("PRAGMA journal_mode = OFF");
  db.run("PRAGMA synchronous = OFF");
  db.run("PRAGMA locking_mode = EXCLUSIVE");
  // The audit looks at every reference; here they would be looked up one by one.
  db.run("PRAGMA foreign_keys = OFF");
  db.run("PRAGMA temp_store = MEMORY");
  db.run("PRAGMA cache_size = -262144");
}

function prepareWorkspace(db: Database, { owners }: HistoryPlan): void {
  db.run("CREATE TEMP TABLE owner (number INTEGER PRIMARY KEY, account_id TEXT, key_id TEXT)");
  const insert = db.query("INSERT INTO owner VALUES (?1, ?2, ?3)");
  for (const [number, { accountId, keyId }] of owners.entries()) insert.run(number, accountId, keyId);
  db.run(`CREATE TEMP TABLE made (
    id TEXT, account_id TEXT, key_id TEXT, at_ms INTEGER, input INTEGER, output INTEGER, micros INTEGER
  )`);
}

type Steps = ReturnType<typeof prepareSteps>;

function writeDay(
  steps: Steps,
  { first, end, calls, startMs, owners }: HistoryPlan & { first: number; end: number },
): void {
  steps.forget.run();
  steps.make.run({ first, end, calls, startMs, spanMs: historyDays * dayMs, owners: owners.length });
  steps.calls.run({
    operationId,
    model,
    held: historyHold.amountMicros,
    multiplier: historyHold.multiplierPpm,
    version: historyPrice.terms.version,
  });
  steps.lists.run();
  for (const width of [1, 60, 3_600, 86_400]) steps.buckets.run({ width });
  steps.budgets.run();
  steps.accounts.run();
}

function prepareSteps(db: Database) {
  return {
    forget: db.query<never, []>("DELETE FROM made"),
    // Who calls, and how much is used, looks random and is the same every time.
    make: db.query<never, Record<string, number>>(
      `WITH RECURSIVE
         series (n) AS (VALUES ($first) UNION ALL SELECT n + 1 FROM series WHERE n + 1 < $end),
         timed AS (
           SELECT n, $startMs + n * $spanMs / $calls AS at_ms, n * 2654435761 & 0xffffffff AS chance,
                  80 + 2 * (n % 33) AS input, 60 + n % 71 AS output
           FROM series
         )
       INSERT INTO made
       SELECT printf('%08x-%04x-7%03x-8%03x-%012x', at_ms >> 16, at_ms & 0xffff, chance & 0xfff, chance >> 12 & 0xfff, n),
              account_id, key_id, at_ms, input, output, input * 5 / 2 + output * 10
       FROM timed CROSS JOIN owner ON number = (chance >> 8) % $owners`,
    ),
    calls: db.query<never, Record<string, string | bigint>>(
      `INSERT INTO call (id, account_id, key_id, operation_id, model, state, outcome, held_micros, value_micros,
                         charged_micros, price_version, multiplier_ppm, budget_window_start_ms, used, usage_source,
                         http_status, attempts, run_id, created_at_ms, settled_at_ms)
       SELECT id, account_id, key_id, $operationId, $model, 'settled', 'succeeded', $held, micros,
              micros, $version, $multiplier, at_ms - at_ms % ${dayMs},
              '{"input_tokens":' || input || ',"output_tokens":' || output || '}', 'provider',
              200, '[]', (SELECT max(id) FROM run), at_ms, at_ms + ${answeredAfterMs}
       FROM made`,
    ),
    lists: db.query<never, []>(
      "INSERT INTO account_call SELECT account_id, id FROM made ORDER BY account_id, id",
    ),
    // A call that ends after midnight counts on the day it ends, so a bucket may be there already.
    buckets: db.query<never, { width: number }>(
      `INSERT INTO usage_bucket (width_seconds, start_seconds, account_id, key_id, requests, failed_requests,
         input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, value_micros, charged_micros)
       SELECT $width, seconds - seconds % $width AS start, account_id, key_id, count(*), 0,
              sum(input), sum(output), 0, 0, sum(micros), sum(micros)
       FROM (SELECT *, (at_ms + ${answeredAfterMs}) / 1000 AS seconds FROM made)
       GROUP BY start, account_id, key_id ORDER BY start, account_id, key_id
       ON CONFLICT DO UPDATE SET
         requests = requests + excluded.requests, input_tokens = input_tokens + excluded.input_tokens,
         output_tokens = output_tokens + excluded.output_tokens,
         value_micros = value_micros + excluded.value_micros, charged_micros = charged_micros + excluded.charged_micros`,
    ),
    budgets: db.query<never, []>(
      `INSERT INTO budget SELECT key_id, at_ms - at_ms % ${dayMs}, sum(micros), 0, 0 FROM made GROUP BY 1, 2`,
    ),
    accounts: db.query<never, []>(
      `UPDATE account SET posted_micros = posted_micros - spent
       FROM (SELECT account_id, sum(micros) AS spent FROM made GROUP BY 1) AS day WHERE day.account_id = account.id`,
    ),
  };
}
