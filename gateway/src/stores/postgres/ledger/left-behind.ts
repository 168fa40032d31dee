import type { Recovery, Release, Resolved } from "../../../ledger/ledger.ts";
import { recoveryOf, unseenEnd, type RecoveredCall } from "../../recovery.ts";
import type { Database } from "../server/database.ts";

const orphansAtOnce = 200;

/** Ends the calls of ended runs as after a crash, and says what that came to. */
export async function endWhatIsLeft(
  db: Database,
  release: (release: Release) => Promise<Resolved>,
  nowMs: number,
): Promise<Recovery> {
  const ended: RecoveredCall[] = [];
  const lostTasks = await loseTasks(db);
  for (;;) {
    const orphans = await db.readPatiently<OrphanRow>(findOrphans, [orphansAtOnce]);
    if (orphans.length === 0) return recoveryOf(ended, lostTasks);
    const found = await Promise.all(
      orphans.map(async ({ id, operation_id: operationId, held_micros: heldMicros }) => {
        const resolved = await release(unseenEnd(id, nowMs));
        return { operationId, heldMicros, resolved };
      }),
    );
    // What another node has ended first, that node tells of.
    ended.push(...found.filter(({ resolved }) => resolved.first));
  }
}

interface OrphanRow {
  readonly id: string;
  readonly operation_id: string;
  readonly held_micros: bigint;
}

/** Whether a run that has ended left anything that is to be ended. */
export async function isAnythingLeft(db: Database): Promise<boolean> {
  const [row] = await db.readPatiently<{ left: boolean }>(
    `SELECT EXISTS (SELECT 1 ${orphaned}) OR EXISTS (SELECT 1 ${claimsLeft}) OR EXISTS (SELECT 1 ${creationsLeft}) AS left`,
  );
  return row?.left === true;
}

/** Marks tasks as lost whose creation a dead process left open, and ends its claims. */
const loseTasks = (db: Database): Promise<number> =>
  db.writePatiently(async (query) => {
    await query(
      `UPDATE task SET lease_until_ms = 0, fence = fence + 1, lease_run_id = NULL
       WHERE id = ANY (ARRAY(SELECT task.id ${claimsLeft} ORDER BY task.id FOR NO KEY UPDATE OF task))`,
    );
    const lost = await query(
      `UPDATE task SET state = 'LOST'
       WHERE id = ANY (ARRAY(SELECT task.id ${creationsLeft} ORDER BY task.id FOR NO KEY UPDATE OF task)) RETURNING id`,
    );
    return lost.length;
  });

/**
 * Looked for between the runs that live, of which there are few. What has ended stays in the index of open calls as long as
 * any transaction may see it, such as a dump that takes an hour, and nearly all of that is of the runs that live.
 */
const orphaned = `
  FROM (
    SELECT lag(id, 1, 0::bigint) OVER (ORDER BY id) AS after_id, id AS before_id FROM run WHERE ended_at_ms IS NULL
    UNION ALL
    SELECT coalesce(max(id), 0), ${2n ** 63n - 1n} FROM run WHERE ended_at_ms IS NULL
  ) AS gap
  CROSS JOIN LATERAL (
    SELECT * FROM call WHERE settled_at_ms IS NULL AND run_id > after_id AND run_id < before_id OFFSET 0
  ) AS call
  JOIN run ON run.id = call.run_id
  WHERE run.ended_at_ms IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM task WHERE call_id = call.id AND task.ended_at_ms IS NULL)`;

const findOrphans = `SELECT call.id, call.operation_id, call.held_micros ${orphaned} ORDER BY call.id LIMIT $1`;

const claimsLeft = `
  FROM task JOIN run ON run.id = lease_run_id
  WHERE run.ended_at_ms IS NOT NULL AND task.ended_at_ms IS NULL AND lease_until_ms > 0`;

// No vendor has them yet, so they have no upstream; that column is asked too, because the index of open tasks begins with it.
const creationsLeft = `
  FROM task JOIN call ON call.id = task.call_id JOIN run ON run.id = call.run_id
  WHERE run.ended_at_ms IS NOT NULL AND task.ended_at_ms IS NULL AND upstream IS NULL AND task.state = 'CREATING'`;
