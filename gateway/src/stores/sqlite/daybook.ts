import type { Database } from "bun:sqlite";
import type { UsageSums } from "../../usage/usage-report.ts";

interface EndedCall {
  readonly callId: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly settledAtMs: number;
  readonly sums: UsageSums;
}

/**
 * Where ended calls are noted, one row each, until they are filed: summed into usage buckets, and entered in the list
 * of their account. Buckets and lists spread over as many pages as there are accounts, so filing many calls at once
 * costs a fraction of what filing each one would. Whoever reads usage or lists adds what is not filed yet, so what
 * they read is always whole, in every process and after every crash.
 */
export interface Daybook {
  /** Part of the transaction that ends the call. */
  readonly note: (call: EndedCall) => void;
  readonly file: () => void;
  readonly fileWhenFull: () => void;
  /** The transaction was rolled back, so what was noted in it is not there. */
  readonly recount: () => void;
}

/**
 * Enough to share pages: filing touches a page of each account's list however few calls it files. Few enough to be filed
 * in some milliseconds, during which nobody else is served, and to be added up by every reader.
 */
const rowsUsualMax = 1_024;

export const bucketWidthsSeconds = [1, 60, 86_400] as const;

export function createDaybook(db: Database, rowsMax = rowsUsualMax): Daybook {
  const sql = prepare(db);
  /** Undefined when it must be counted anew. */
  let rows: number | undefined;

  const file = (): void => {
    sql.addToBuckets.run();
    sql.addToLists.run();
    sql.clear.run();
    rows = 0;
  };

  return {
    note: ({ callId, accountId, keyId, settledAtMs, sums }) => {
      sql.note.run(
        callId,
        accountId,
        keyId,
        Math.floor(settledAtMs / 1000),
        sums.requests,
        sums.failedRequests,
        sums.inputTokens,
        sums.outputTokens,
        sums.cacheReadTokens,
        sums.cacheWriteTokens,
        sums.valueMicros,
        sums.chargedMicros,
      );
      if (rows !== undefined) rows++;
    },
    file,
    fileWhenFull: () => {
      rows ??= Number(sql.count.get()?.n ?? 0n);
      if (rows >= rowsMax) file();
    },
    recount: () => {
      rows = undefined;
    },
  };
}

/** What is summed, as the columns of the daybook and of the buckets are named. */
const figures = [
  "requests",
  "failed_requests",
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "value_micros",
  "charged_micros",
] as const;

function prepare(db: Database) {
  return {
    note: db.query<
      never,
      [string, string, string, number, number, number, number, number, number, number, bigint, bigint]
    >("INSERT INTO daybook VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"),
    count: db.query<{ n: bigint }, []>("SELECT count(*) AS n FROM daybook"),
    // The calls of each second are summed once; those sums are then added to their second, minute and day.
    addToBuckets: db.query<never, []>(
      `WITH
         width (width_seconds) AS (VALUES ${bucketWidthsSeconds.map((width) => `(${width})`).join(", ")}),
         used AS MATERIALIZED (
           SELECT settled_seconds, account_id, key_id, ${figures.map((each) => `sum(${each}) AS ${each}`).join(", ")}
           FROM daybook GROUP BY 1, 2, 3
         )
       INSERT INTO usage_bucket (width_seconds, start_seconds, account_id, key_id, ${figures.join(", ")})
       SELECT width_seconds, settled_seconds - settled_seconds % width_seconds, account_id, key_id, ${figures.join(", ")}
       FROM width CROSS JOIN used WHERE true
       ON CONFLICT DO UPDATE SET ${figures.map((each) => `${each} = ${each} + excluded.${each}`).join(", ")}`,
    ),
    addToLists: db.query<never, []>(
      "INSERT INTO account_call SELECT account_id, call_id FROM daybook ORDER BY account_id, call_id",
    ),
    clear: db.query<never, []>("DELETE FROM daybook"),
  };
}
