import type { Database } from "bun:sqlite";
import type { HoldRequest } from "../../ledger/ledger.ts";
import type { NewTask, TaskEnd } from "../../ledger/task-record.ts";

/** What the ledger writes about tasks, inside its own transactions: a task opens and ends together with its call. */
export interface TaskRows {
  readonly countOpen: (keyId: string) => number;
  readonly insert: (task: NewTask, hold: HoldRequest) => void;
  /** False when the task has ended, or the claim under which its end was seen is gone. */
  readonly end: (end: TaskEnd, endedAtMs: number) => boolean;
  /** Ends a task whose creation never left. */
  readonly abandon: (callId: string, endedAtMs: number) => void;
  /** Says of tasks whose creation a dead process left open that they are lost, and ends its claims. */
  readonly recover: () => number;
}

export function createTaskRows(db: Database): TaskRows {
  const sql = {
    countOpen: db.query<{ n: bigint }, [string]>(
      "SELECT count(*) AS n FROM task WHERE key_id = ?1 AND ended_at_ms IS NULL AND state <> 'LOST'",
    ),
    insert: db.query<
      never,
      [
        callId: string,
        taskId: string,
        accountId: string,
        keyId: string,
        expected: string,
        createdAtMs: number,
        deadlineAtMs: number,
      ]
    >(
      `INSERT INTO task (call_id, id, account_id, key_id, state, expected, created_at_ms, asked_at_ms, next_poll_at_ms, deadline_at_ms)
       VALUES (?1, ?2, ?3, ?4, 'CREATING', ?5, ?6, ?6, ?6, ?7)`,
    ),
    end: db.query<
      never,
      [
        state: string,
        report: string | null,
        endedAtMs: number,
        forgetAtMs: number,
        taskId: string,
        fence: number,
      ]
    >(
      `UPDATE task SET state = ?1, report = coalesce(?2, report), ended_at_ms = ?3, forget_at_ms = ?4, lease_until_ms = 0
       WHERE id = ?5 AND fence = ?6 AND ended_at_ms IS NULL`,
    ),
    abandon: db.query<never, [number, string]>(
      `UPDATE task SET state = 'REFUSED', ended_at_ms = ?1, forget_at_ms = ?1
       WHERE call_id = ?2 AND state IN ('CREATING', 'LOST')`,
    ),
    loseAll: db.query<never, []>(
      "UPDATE task SET state = 'LOST' WHERE ended_at_ms IS NULL AND state = 'CREATING'",
    ),
    endClaims: db.query<never, []>(
      "UPDATE task SET lease_until_ms = 0, fence = fence + 1 WHERE ended_at_ms IS NULL AND lease_until_ms > 0",
    ),
  };
  return {
    countOpen: (keyId) => Number(sql.countOpen.get(keyId)?.n ?? 0n),
    insert: ({ id, expected, deadlineAtMs }, { callId, accountId, keyId, createdAtMs }) =>
      void sql.insert.run(callId, id, accountId, keyId, JSON.stringify(expected), createdAtMs, deadlineAtMs),
    end: ({ state, report, forgetAtMs, taskId, fence }, endedAtMs) => {
      const written = report ? JSON.stringify(report) : null;
      return sql.end.run(state, written, endedAtMs, forgetAtMs, taskId, fence).changes === 1;
    },
    abandon: (callId, endedAtMs) => void sql.abandon.run(endedAtMs, callId),
    recover: () => {
      sql.endClaims.run();
      return sql.loseAll.run().changes;
    },
  };
}
