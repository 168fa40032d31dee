import type { PlacedTask, Task } from "../../ledger/task-record.ts";
import type { TaskBook } from "../../tasks/task-book.ts";
import { beginPatienceMs } from "../patience.ts";
import { readClaimed, readTask, unaskedGraceMs, type TaskRow } from "../task-record-rows.ts";
import type { Database } from "./server/database.ts";
import type { Query, Value } from "./server/query.ts";

// Every change is one statement that names its own conditions: of two nodes that come at once, the second waits for the
// first, and Postgres asks the conditions again of the row that the first left behind.

/** `currentRun` is the run of this process: whoever finds it dead ends the claims it leaves. */
export function createPostgresTasks(db: Database, currentRun: () => bigint | undefined): TaskBook {
  const findOne = async (rest: string, values: readonly Value[]): Promise<Task | undefined> => {
    const [row] = await db.read<TaskRow>(`${selectFrom("task")} ${rest}`, values);
    return row && readTask(row);
  };
  const change = (text: string, values: readonly Value[]): Promise<number> =>
    db.write(async (query) => (await query(`${text} RETURNING id`, values)).length);
  /** The vendor has been asked, and only we know what it said. The second time neither of these changes anything. */
  const insist = <Result>(write: (query: Query) => Promise<Result>): Promise<Result> =>
    db.writePatiently(write, beginPatienceMs, { evenInDoubt: true });
  const claim = async (text: string, values: readonly Value[]): Promise<PlacedTask[]> => {
    const rows = await db.write((query) => query<TaskRow>(text, values));
    return rows.map(readClaimed);
  };

  return {
    find: (accountId, taskId) => findOne("WHERE task.account_id = $1 AND task.id = $2", [accountId, taskId]),
    findByCall: (callId) => findOne("WHERE call_id = $1", [callId]),
    countOpen: async (keyId) => {
      const [row] = await db.read<{ n: bigint }>(
        "SELECT count(*) AS n FROM task WHERE key_id = $1 AND forget_at_ms IS NULL AND state <> 'LOST'",
        [keyId],
      );
      return Number(row?.n ?? 0n);
    },
    begin: async (begun) => {
      const { taskId, state, upstream, upstreamTaskId, attempts, askedAtMs, nextPollAtMs } = begun;
      return insist(async (query) => {
        // When two nodes were told the same id at once, the second looks after the first has written.
        await query("SELECT pg_advisory_xact_lock(hashtextextended($1, $2))", [
          `${upstream} ${upstreamTaskId}`,
          idLock,
        ]);
        const another = await query(
          "SELECT id FROM task WHERE upstream = $1 AND upstream_task_id = $2 AND id <> $3 LIMIT 1",
          [upstream, upstreamTaskId, taskId],
        );
        if (another.length > 0) return false;
        await query(
          `UPDATE task SET state = $1, upstream = $2, upstream_task_id = $3, attempts = $4, asked_at_ms = $5,
                           next_poll_at_ms = $6
           WHERE id = $7 AND upstream_task_id IS NULL AND ended_at_ms IS NULL`,
          [state, upstream, upstreamTaskId, JSON.stringify(attempts), askedAtMs, nextPollAtMs, taskId],
        );
        return true;
      });
    },
    lose: async (taskId, attempts) => {
      const text = "UPDATE task SET state = 'LOST', attempts = $1 WHERE id = $2 AND state = 'CREATING'";
      await insist((query) => query(text, [JSON.stringify(attempts), taskId]));
    },
    listUpstreams: async () => {
      const rows = await db.read<{ upstream: string }>(
        "SELECT DISTINCT upstream FROM task WHERE ended_at_ms IS NULL AND upstream IS NOT NULL",
      );
      return rows.map(({ upstream }) => upstream);
    },
    countDue: async ({ upstream, nowMs, limit }) => (await db.read(due, [upstream, nowMs, limit])).length,
    claimDue: ({ upstream, nowMs, leaseMs, limit }) =>
      claim(claimDue, [upstream, nowMs, limit, nowMs + leaseMs, currentRun() ?? null]),
    claim: async ({ taskId, nowMs, leaseMs, notAskedSinceMs }) =>
      (await claim(claimOne, [taskId, nowMs, notAskedSinceMs, nowMs + leaseMs, currentRun() ?? null]))[0],
    note: async ({ taskId, fence, state, report, errors, missing, nextPollAtMs }) => {
      const changed = await change(
        `UPDATE task SET state = $1, report = $2, errors = $3, missing = $4, next_poll_at_ms = $5, lease_until_ms = 0
         WHERE id = $6 AND fence = $7 AND ended_at_ms IS NULL`,
        [state, report ? JSON.stringify(report) : null, errors, missing, nextPollAtMs, taskId, fence],
      );
      return changed === 1;
    },
    hurry: async (taskId, nowMs) => {
      await change(
        `UPDATE task SET next_poll_at_ms = least(next_poll_at_ms, $1)
         WHERE id = $2 AND ended_at_ms IS NULL AND next_poll_at_ms > $1`,
        [nowMs, taskId],
      );
    },
    bringBack: async ({ nowMs, askedAfterMs }) => {
      // In the order of ids, so that two who do it at once do not wait for each other.
      await db.writePatiently((query) =>
        query(
          `UPDATE task SET asked_at_ms = $1, next_poll_at_ms = least(next_poll_at_ms, $1),
                           lease_until_ms = least(lease_until_ms, $1)
           WHERE id = ANY (ARRAY(
             SELECT id FROM task WHERE ended_at_ms IS NULL AND asked_at_ms > $2 ORDER BY id FOR NO KEY UPDATE))`,
          [nowMs, askedAfterMs],
        ),
      );
    },
    listOverdue: async (nowMs, limit) =>
      (await db.read<TaskRow>(overdue, [nowMs, nowMs - unaskedGraceMs, limit])).map(readTask),
  };
}

/** Any number, so that ids of tasks are not taken for something else that is locked by its text. */
const idLock = 7_025_193_812n;

const selectFrom = (tasks: string): string => `
  SELECT task.id, call_id, task.account_id, task.key_id, call.operation_id, task.state, upstream, upstream_task_id,
         expected, price_version, unit_prices, task.attempts, report, task.created_at_ms, asked_at_ms,
         next_poll_at_ms, deadline_at_ms, fence, errors, missing, ended_at_ms, forget_at_ms
  FROM ${tasks} JOIN call ON call.id = call_id JOIN price ON price.version = price_version`;

// Leased tasks wait their turn even when due; those without a vendor's id have no upstream and are never due.
const due = `
  SELECT id FROM task
  WHERE upstream = $1 AND next_poll_at_ms <= $2 AND lease_until_ms <= $2 AND ended_at_ms IS NULL
  ORDER BY next_poll_at_ms LIMIT $3`;

const claimed = (which: string): string => `
  WITH claimed AS (
    UPDATE task SET lease_until_ms = $4, lease_run_id = $5, fence = fence + 1, asked_at_ms = $2 WHERE ${which} RETURNING *
  )
  ${selectFrom("claimed AS task")} ORDER BY next_poll_at_ms, task.id`;

// What another node is claiming at this moment is passed over, not waited for. Where nothing is due, nothing is written.
const claimDue = claimed(`id = ANY (ARRAY(${due} FOR NO KEY UPDATE SKIP LOCKED))`);

const claimOne = claimed(`
  id = $1 AND ended_at_ms IS NULL AND upstream_task_id IS NOT NULL AND lease_until_ms <= $2 AND asked_at_ms <= $3
  AND (errors = 0 OR next_poll_at_ms <= $2)`);

const overdue = `${selectFrom("task")}
  WHERE deadline_at_ms <= $1 AND ended_at_ms IS NULL AND lease_until_ms <= $1
    AND (upstream_task_id IS NULL OR asked_at_ms >= deadline_at_ms OR deadline_at_ms <= $2)
  ORDER BY deadline_at_ms, task.id LIMIT $3`;
