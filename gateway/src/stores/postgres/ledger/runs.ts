import type { Database } from "../server/database.ts";
import { checkVersion } from "../schema/migrate.ts";
import { jsonOf } from "../server/json-rows.ts";
import type { Query } from "../server/query.ts";

/**
 * Which processes serve. Each has a run, whose beats it makes grow as long as it lives. Whoever has watched a run for a
 * while and saw it grow no more takes its process for dead and ends it: no clock is compared, and a server that was away
 * itself makes nobody dead, because nobody could watch meanwhile.
 */
export interface Runs {
  /** The run of this process; undefined before it began. */
  readonly current: () => bigint | undefined;
  readonly begin: (nowMs: number) => Promise<bigint>;
  /** Another process ended this run, while this one lives: it goes on under a new one, unless it does already. */
  readonly goOnAfter: (endedRunId: bigint) => Promise<void>;
  /** How often to beat. */
  readonly beatMs: number;
  /** A sign of life, and one look at the others; true when somebody was found dead. */
  readonly beat: () => Promise<boolean>;
  /** Says that this process is gone, so that nobody has to find out. */
  readonly end: () => Promise<void>;
}

/** How long another process must see a run stand still before it takes its process for dead. */
export const deadAfterUsualMs = 15_000;
/** How often a process shows itself in that time: a few signs of life may be late or lost. */
const beatsUntilDead = 7.5;

interface Parts {
  readonly db: Database;
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
  readonly deadAfterMs: number;
  /** How many nodes there are, this one among them, each time that it was looked. */
  readonly onNodesSeen?: ((nodes: number) => void) | undefined;
}

/** How many beats a run had, and since when it has been seen with no more. */
interface WatchedRun {
  readonly beats: bigint;
  readonly sinceMs: number;
}

export function createRuns({ db, wallMs, monotonicMs, deadAfterMs, onNodesSeen }: Parts): Runs {
  let current: bigint | undefined;
  let goingOn: Promise<void> | undefined;
  let watched = new Map<bigint, WatchedRun>();
  let lookedAtMs = Number.NEGATIVE_INFINITY;

  const begin = async (nowMs: number): Promise<bigint> => {
    const { runId, nodes } = await db.writePatiently(async (query) => {
      const [row] = await query<{ id: bigint }>("INSERT INTO run (started_at_ms) VALUES ($1) RETURNING id", [
        nowMs,
      ]);
      // Checked after the insert, which waits for a migration under way: a process that stood still meanwhile must not go
      // on in a schema it does not know.
      await checkVersion(query);
      return { runId: row?.id, nodes: (await look(query)).length };
    });
    if (runId === undefined) throw new Error("The store did not number this run.");
    onNodesSeen?.(nodes);
    return (current = runId);
  };

  /** One new run for all who find out. A run that nobody keeps alive would be ended, and its calls with it. */
  const goOnAfter = (endedRunId: bigint): Promise<void> => {
    if (current !== endedRunId) return goingOn ?? Promise.resolve();
    goingOn ??= begin(wallMs())
      .then(() => {})
      .finally(() => (goingOn = undefined));
    return goingOn;
  };

  const look = (query: Query): Promise<readonly { id: bigint; beats: bigint }[]> =>
    query("SELECT id, beats FROM run WHERE ended_at_ms IS NULL");

  /** Those whose beats have not grown for long enough, under looks that followed each other without a gap. */
  const watch = (runs: readonly { id: bigint; beats: bigint }[]): bigint[] => {
    const nowMs = monotonicMs();
    // A process that could not look for a while does not know who lived meanwhile.
    if (nowMs - lookedAtMs > deadAfterMs / 2) watched.clear();
    lookedAtMs = nowMs;
    const seen = new Map<bigint, WatchedRun>();
    for (const { id, beats } of runs) {
      const before = watched.get(id);
      seen.set(id, before?.beats === beats ? before : { beats, sinceMs: nowMs });
    }
    watched = seen;
    return [...seen]
      .filter(([id, { sinceMs }]) => id !== current && nowMs - sinceMs >= deadAfterMs)
      .map(([id]) => id);
  };

  return {
    current: () => current,
    begin,
    goOnAfter,
    beatMs: Math.ceil(deadAfterMs / beatsUntilDead),
    beat: async () => {
      const runId = current;
      const runs = await db.beat(async (query) => {
        if (runId !== undefined) await query("UPDATE run SET beats = beats + 1 WHERE id = $1", [runId]);
        return look(query);
      });
      onNodesSeen?.(runs.length);
      if (runId !== undefined && !runs.some(({ id }) => id === runId)) await goOnAfter(runId);
      const dead = watch(runs);
      if (dead.length === 0) return false;
      const ended = await db.beat(async (query) => {
        const beatsOf = dead.map((id) => ({ id: `${id}`, beats: `${watched.get(id)?.beats ?? 0n}` }));
        // Whatever is still held under them is held by now, or never.
        await query("SELECT id FROM run WHERE id = ANY($1::text[]::bigint[]) ORDER BY id FOR UPDATE", [
          dead.map(String),
        ]);
        return query<{ id: bigint }>(
          `UPDATE run SET ended_at_ms = $1 FROM json_to_recordset($2::text::json) AS given (id bigint, beats bigint)
           WHERE run.id = given.id AND run.beats = given.beats AND ended_at_ms IS NULL RETURNING run.id`,
          [wallMs(), jsonOf(beatsOf)],
        );
      });
      return ended.length > 0;
    },
    end: async () => {
      const runId = current;
      if (runId === undefined) return;
      await db.writePatiently((query) =>
        query("UPDATE run SET ended_at_ms = $1 WHERE id = $2 AND ended_at_ms IS NULL", [wallMs(), runId]),
      );
      current = undefined;
    },
  };
}
