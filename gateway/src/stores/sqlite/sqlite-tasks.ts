import type { Database, SQLQueryBindings } from "bun:sqlite";
import type { PlacedTask, Task } from "../../ledger/task-record.ts";
import type { TaskBook } from "../../tasks/task-book.ts";
import { beginPatienceMs } from "../patience.ts";
import { readClaimed, readTask, unaskedGraceMs, type TaskRow } from "../task-record-rows.ts";
import type { GroupCommit } from "./file/group-commit.ts";
import type { TaskRows } from "./task-rows.ts";

export function createSqliteTasks(db: Database, commits: GroupCommit, rows: TaskRows): TaskBook {
  const sql = prepare(db);
  const taskOf = (row: TaskRow | null): Task | undefined => (row ? readTask(row) : undefined);

  return {
    find: async (accountId, taskId) => taskOf(sql.find.get(accountId, taskId)),
    findByCall: async (callId) => taskOf(sql.findByCall.get(callId)),
    countOpen: async (keyId) => rows.countOpen(keyId),
    begin: (begun) =>
      commits.run(() => {
        if (sql.another.get(begun.upstream, begun.upstreamTaskId, begun.taskId)) return false;
        sql.begin.run(
          begun.state,
          begun.upstream,
          begun.upstreamTaskId,
          JSON.stringify(begun.attempts),
          begun.askedAtMs,
          begun.nextPollAtMs,
          begun.taskId,
        );
        return true;
      }, beginPatienceMs),
    lose: (taskId, attempts) =>
      commits.run(() => void sql.lose.run(JSON.stringify(attempts), taskId), beginPatienceMs),
    listUpstreams: async () => sql.upstreams.all().map(({ upstream }) => upstream),
    countDue: async ({ upstream, nowMs, limit }) => sql.due.all(upstream, nowMs, limit).length,
    claimDue: ({ upstream, nowMs, leaseMs, limit }) =>
      commits.run(() =>
        sql.due.all(upstream, nowMs, limit).flatMap(({ id }) => claimed(sql, id, nowMs, leaseMs) ?? []),
      ),
    claim: async ({ taskId, nowMs, leaseMs, notAskedSinceMs }) => {
      if (!sql.mayClaim.get(taskId, nowMs, notAskedSinceMs)) return undefined;
      return commits.run(() =>
        // Looked at again: somebody may have come between.
        sql.mayClaim.get(taskId, nowMs, notAskedSinceMs) ? claimed(sql, taskId, nowMs, leaseMs) : undefined,
      );
    },
    note: ({ taskId, fence, state, report, errors, missing, nextPollAtMs }) =>
      commits.run(() => {
        const written = report ? JSON.stringify(report) : null;
        return sql.note.run(state, written, errors, missing, nextPollAtMs, taskId, fence).changes === 1;
      }),
    hurry: (taskId, nowMs) => commits.run(() => void sql.hurry.run(nowMs, taskId)),
    bringBack: ({ nowMs, askedAfterMs }) => commits.run(() => void sql.bringBack.run(nowMs, askedAfterMs)),
    listOverdue: async (nowMs, limit) => sql.overdue.all(nowMs, nowMs - unaskedGraceMs, limit).map(readTask),
  };
}

type Statements = ReturnType<typeof prepare>;

function claimed(sql: Statements, taskId: string, nowMs: number, leaseMs: number): PlacedTask | undefined {
  sql.claim.run(nowMs + leaseMs, nowMs, taskId);
  const row = sql.findById.get(taskId);
  return row ? readClaimed(row) : undefined;
}

function prepare(db: Database) {
  const tasks = (rest: string): string => `
    SELECT task.id, call_id, task.account_id, task.key_id, call.operation_id, task.state, upstream, upstream_task_id,
           expected, price_version, unit_prices, task.attempts, report, task.created_at_ms, asked_at_ms,
           next_poll_at_ms, deadline_at_ms, fence, errors, missing, ended_at_ms, forget_at_ms
    FROM task JOIN call ON call.id = call_id JOIN price ON price.version = price_version ${rest}`;
  const ask = <Given extends SQLQueryBindings[]>(rest: string) => db.query<TaskRow, Given>(tasks(rest));
  // Leased tasks wait their turn even when due; those without a vendor's id have no upstream and are never due.
  const due = "upstream = ?1 AND next_poll_at_ms <= ?2 AND lease_until_ms <= ?2 AND ended_at_ms IS NULL";
  return {
    find: ask<[string, string]>("WHERE task.account_id = ?1 AND task.id = ?2"),
    findById: ask<[string]>("WHERE task.id = ?1"),
    findByCall: ask<[string]>("WHERE call_id = ?1"),
    another: db.query<{ id: string }, [string, string, string]>(
      "SELECT id FROM task WHERE upstream = ?1 AND upstream_task_id = ?2 AND id <> ?3 LIMIT 1",
    ),
    begin: db.query<
      never,
      [
        state: string,
        upstream: string,
        upstreamTaskId: string,
        attempts: string,
        askedAtMs: number,
        nextPollAtMs: number,
        taskId: string,
      ]
    >(
      `UPDATE task SET state = ?1, upstream = ?2, upstream_task_id = ?3, attempts = ?4, asked_at_ms = ?5, next_poll_at_ms = ?6
       WHERE id = ?7 AND upstream_task_id IS NULL AND ended_at_ms IS NULL`,
    ),
    lose: db.query<never, [string, string]>(
      "UPDATE task SET state = 'LOST', attempts = ?1 WHERE id = ?2 AND state = 'CREATING'",
    ),
    upstreams: db.query<{ upstream: string }, []>(
      "SELECT DISTINCT upstream FROM task WHERE ended_at_ms IS NULL AND upstream IS NOT NULL",
    ),
    due: db.query<{ id: string }, [string, number, number]>(
      `SELECT id FROM task WHERE ${due} ORDER BY next_poll_at_ms LIMIT ?3`,
    ),
    mayClaim: db.query<{ one: bigint }, [string, number, number]>(
      `SELECT 1 AS one FROM task WHERE id = ?1 AND ended_at_ms IS NULL AND upstream_task_id IS NOT NULL
         AND lease_until_ms <= ?2 AND asked_at_ms <= ?3 AND (errors = 0 OR next_poll_at_ms <= ?2)`,
    ),
    claim: db.query<never, [number, number, string]>(
      `UPDATE task SET lease_until_ms = ?1, fence = fence + 1, asked_at_ms = ?2
       WHERE id = ?3 AND ended_at_ms IS NULL`,
    ),
    note: db.query<
      never,
      [
        state: string,
        report: string | null,
        errors: number,
        missing: number,
        nextPollAtMs: number,
        taskId: string,
        fence: number,
      ]
    >(
      `UPDATE task SET state = ?1, report = ?2, errors = ?3, missing = ?4, next_poll_at_ms = ?5, lease_until_ms = 0
       WHERE id = ?6 AND fence = ?7 AND ended_at_ms IS NULL`,
    ),
    hurry: db.query<never, [number, string]>(
      "UPDATE task SET next_poll_at_ms = min(next_poll_at_ms, ?1) WHERE id = ?2 AND ended_at_ms IS NULL",
    ),
    bringBack: db.query<never, [number, number]>(
      `UPDATE task SET asked_at_ms = ?1, next_poll_at_ms = min(next_poll_at_ms, ?1), lease_until_ms = min(lease_until_ms, ?1)
       WHERE ended_at_ms IS NULL AND asked_at_ms > ?2`,
    ),
    overdue: ask<[number, number, number]>(
      `WHERE deadline_at_ms <= ?1 AND ended_at_ms IS NULL AND lease_until_ms <= ?1
         AND (upstream_task_id IS NULL OR asked_at_ms >= deadline_at_ms OR deadline_at_ms <= ?2)
       ORDER BY deadline_at_ms LIMIT ?3`,
    ),
  };
}
