import type { Database, Query } from "./database.ts";

/**
 * Which processes serve. Each has a run, whose beats it makes grow as long as it lives. Whoever has watched a run for a
 * while and saw it grow no more takes its process for dead and ends it: no clock is compared, and a server that was away
 * itself makes nobody dead, because nobody could watch meanwhile.
 */
export interface Runs {
  /** The run of this process; undefined before it began. */
  readonly current: () => bigint | undefined;
  readonly begin: (nowMs: number) => Promise<bigint>;
  /** Another process ended the run of this one, which lives all the same: it goes on under a new one. */
  readonly beginAgain: () => Promise<bigint>;
  /** One look at the others, and a sign of life; true when somebody was found dead. Called every `beatMs`. */
  readonly beat: () => Promise<boolean>;
  /** Says that this process is gone, so that nobody has to find out. */
  readonly end: () => Promise<void>;
}

export const beatMs = 2_000;
/** So long a run must stand still under the eyes of another before its process is taken for dead. */
const patienceUsualMs = 15_000;

interface Parts {
  readonly db: Database;
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
  readonly patienceMs?: number | undefined;
}

/** When a run was first and last seen with so many beats. */
interface Watched {
  readonly beats: bigint;
  readonly sinceMs: number;
}

export function createRuns({ db, wallMs, monotonicMs, patienceMs = patienceUsualMs }: Parts): Runs {
  let current: bigint | undefined;
  let watched = new Map<bigint, Watched>();
  let lookedAtMs = Number.NEGATIVE_INFINITY;

  const begin = async (nowMs: number): Promise<bigint> => {
    const runId = await db.write(async (query) => {
      const [row] = await query<{ id: bigint }>("INSERT INTO run (started_at_ms) VALUES ($1) RETURNING id", [
        nowMs,
      ]);
      return row?.id;
    });
    if (runId === undefined) throw new Error("The store did not number this run.");
    return (current = runId);
  };

  const look = (query: Query): Promise<readonly { id: bigint; beats: bigint }[]> =>
    query("SELECT id, beats FROM run WHERE ended_at_ms IS NULL");

  /** Whose beats have not grown since they were first seen, looks without a gap between them counted only. */
  const watch = (runs: readonly { id: bigint; beats: bigint }[]): bigint[] => {
    const nowMs = monotonicMs();
    // Who could not look for a while knows nothing about that while.
    if (nowMs - lookedAtMs > patienceMs / 2) watched.clear();
    lookedAtMs = nowMs;
    const seen = new Map<bigint, Watched>();
    for (const { id, beats } of runs) {
      const before = watched.get(id);
      seen.set(id, before?.beats === beats ? before : { beats, sinceMs: nowMs });
    }
    watched = seen;
    return [...seen]
      .filter(([id, { sinceMs }]) => id !== current && nowMs - sinceMs >= patienceMs)
      .map(([id]) => id);
  };

  return {
    current: () => current,
    begin,
    beginAgain: () => begin(wallMs()),
    beat: async () => {
      const runs = await db.write(async (query) => {
        if (current !== undefined) await query("UPDATE run SET beats = beats + 1 WHERE id = $1", [current]);
        return look(query);
      });
      const dead = watch(runs);
      if (dead.length === 0) return false;
      const ended = await db.write((query) => {
        const beatsOf = dead.map((id) => ({ id: `${id}`, beats: `${watched.get(id)?.beats ?? 0n}` }));
        return query<{ id: bigint }>(
          `UPDATE run SET ended_at_ms = $1 FROM json_to_recordset($2::text::json) AS given (id bigint, beats bigint)
           WHERE run.id = given.id AND run.beats = given.beats AND ended_at_ms IS NULL RETURNING run.id`,
          [wallMs(), JSON.stringify(beatsOf)],
        );
      });
      return ended.length > 0;
    },
    end: async () => {
      const runId = current;
      if (runId === undefined) return;
      await db.write((query) =>
        query("UPDATE run SET ended_at_ms = $1 WHERE id = $2 AND ended_at_ms IS NULL", [wallMs(), runId]),
      );
      current = undefined;
    },
  };
}
