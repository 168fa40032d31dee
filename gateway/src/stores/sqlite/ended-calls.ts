import type { Database } from "bun:sqlite";
import { placeOfMoment } from "../../ledger/call-places.ts";
import { secondsPerDay } from "../../platform/utc-day.ts";
import { segmentsOf, type UsageScope, type UsageWindow } from "../../usage/usage-report.ts";
import { behindAllIds } from "../call-pages.ts";
import type { CountedCall } from "../usage-rows.ts";
import { prepareUsage } from "./usage-statements.ts";

/**
 * The calls of an account for whoever asks when they ended. They are listed by when they were made, and one that ended
 * just now may have been made last week; so one looks through them, the newest first, until as many are found as the
 * usage buckets say have ended, and then certainly has them all. To be read at one moment, in a transaction.
 */
export interface EndedCalls {
  /** All of them, from the newest to the oldest; those that wait to be listed come first. */
  readonly newestFirst: (accountId: string) => Iterable<EndedCall>;
  /** How many of the account or of one key have ended in a window. */
  readonly countIn: (scope: UsageScope, window: UsageWindow) => number;
  /** Those of all accounts that have ended in a window, looked for along the calls themselves. */
  readonly wholeIn: (window: UsageWindow) => Iterable<EndedCall>;
  /** How many have ended in this second or later. */
  readonly countSince: (accountId: string, startSeconds: number) => number;
}

export interface EndedCall extends CountedCall {
  readonly id: string;
  readonly key_id: string;
  readonly settled_at_ms: bigint;
}

/** Page size of the read: whoever stops early has read at most this many too many. */
const readAtOnce = 1_000;

export function createEndedCalls(db: Database): EndedCalls {
  const sql = prepare(db);
  const usage = prepareUsage(db);

  const countIn = (scope: UsageScope, window: UsageWindow): number =>
    segmentsOf(window)
      .flatMap((segment) => usage.byDay(scope, segment))
      .reduce((sum, { requests }) => sum + Number(requests), 0);

  return {
    newestFirst: function* (accountId) {
      const waiting = sql.waiting.all(accountId);
      yield* waiting;
      // While a list grows, a call may stand in both.
      const seen = new Set(waiting.map(({ id }) => id));
      let before = behindAllIds;
      for (;;) {
        const listed = sql.listed.all(accountId, before, readAtOnce);
        yield* listed.filter(({ id }) => !seen.has(id));
        const last = listed.at(-1);
        if (!last || listed.length < readAtOnce) return;
        before = last.id;
      }
    },
    countIn,
    wholeIn: function* (window) {
      let left = segmentsOf(window)
        .flatMap((segment) => usage.wholeByStart(segment))
        .reduce((sum, { requests }) => sum + Number(requests), 0);
      const [startMs, endMs] = [window.startSeconds * 1_000, window.endSeconds * 1_000];
      // A call is made before it ends; those that a clock which was set back says otherwise of are looked for last.
      const behindWindow = placeOfMoment(endMs);
      const stretches = [
        { from: "", behind: behindWindow },
        { from: behindWindow, behind: behindAllIds },
      ];
      for (const { from, behind } of stretches) {
        let before = behind;
        while (left > 0) {
          // Who asked for more than are left would walk to the oldest call in search of them.
          const most = Math.min(left, readAtOnce);
          const found = sql.wholeIn.all(from, before, startMs, endMs, most);
          yield* found;
          left -= found.length;
          const last = found.at(-1);
          if (!last || found.length < most) break;
          before = last.id;
        }
      }
    },
    countSince: (accountId, startSeconds) => {
      const newestDay = sql.newestDay.get()?.start_seconds ?? null;
      if (newestDay === null) return 0;
      const since = { startSeconds, endSeconds: Number(newestDay) + secondsPerDay };
      return countIn({ accountId, keyId: undefined }, since);
    },
  };
}

const columns = `call.id, call.key_id, call.operation_id, call.model, outcome, used, value_micros, charged_micros, attempts,
                 settled_at_ms`;

function prepare(db: Database) {
  return {
    // The order of these joins is the order of the loops: from the rows of the list to the calls they name.
    listed: db.query<EndedCall, [string, string, number]>(
      `SELECT ${columns} FROM account_call CROSS JOIN call ON call.id = account_call.call_id
       WHERE account_call.account_id = ?1 AND account_call.call_id < ?2
       ORDER BY account_call.call_id DESC LIMIT ?3`,
    ),
    waiting: db.query<EndedCall, [string]>(
      `SELECT ${columns} FROM unlisted CROSS JOIN json_each(unlisted.lists, '$."' || ?1 || '"') AS waiting
       CROSS JOIN call ON call.id = waiting.value ORDER BY call.id DESC`,
    ),
    wholeIn: db.query<EndedCall, [string, string, number, number, number]>(
      `SELECT ${columns} FROM call
       WHERE id >= ?1 AND id < ?2 AND settled_at_ms >= ?3 AND settled_at_ms < ?4 ORDER BY id DESC LIMIT ?5`,
    ),
    newestDay: db.query<{ start_seconds: bigint | null }, []>(
      `SELECT max(start_seconds) AS start_seconds FROM usage_bucket WHERE width_seconds = ${secondsPerDay}`,
    ),
  };
}
