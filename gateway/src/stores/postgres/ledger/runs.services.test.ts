import { expect, test } from "bun:test";
import { openTestDatabase } from "../../../../../test/services/postgres.ts";
import { openDatabase, type Database } from "../server/database.ts";
import { migrate } from "../schema/migrate.ts";
import { createRuns, type Runs } from "./runs.ts";

const deadAfterMs = 15_000;

const open = (url: string): Database => openDatabase({ url, monotonicMs: () => performance.now() });

async function migrated(url: string): Promise<void> {
  const db = open(url);
  await migrate(db, 0);
  await db.close();
}

/** One that watches and one that is watched, at a time that passes when they say so. */
async function withRuns(
  watch: (parts: {
    readonly watcher: Runs;
    readonly watched: Runs;
    /** Time passes, and the watcher looks; whether it found somebody dead. */
    readonly lookAfter: (ms: number) => Promise<boolean>;
    /** How many nodes the watcher told of, each time. */
    readonly nodesSeen: readonly number[];
    readonly isEnded: () => Promise<boolean>;
    readonly db: Database;
  }) => Promise<void>,
): Promise<void> {
  const { url, drop } = await openTestDatabase({ template: migrated });
  const db = open(url);
  let nowMs = 1_000;
  const parts = { db, wallMs: () => 1, monotonicMs: () => nowMs, deadAfterMs };
  const nodesSeen: number[] = [];
  const onNodesSeen = (nodes: number): void => void nodesSeen.push(nodes);
  const [watcher, watched] = [createRuns({ ...parts, onNodesSeen }), createRuns(parts)];
  try {
    await watcher.begin(0);
    const watchedId = await watched.begin(0);
    await watch({
      watcher,
      watched,
      lookAfter: (ms) => {
        nowMs += ms;
        return watcher.beat();
      },
      nodesSeen,
      isEnded: async () => {
        const [run] = await db.read<{ ended: boolean }>(
          "SELECT ended_at_ms IS NOT NULL AS ended FROM run WHERE id = $1",
          [watchedId],
        );
        return run?.ended === true;
      },
      db,
    });
  } finally {
    await db.close();
    await drop();
  }
}

test("a run that stands still under the eyes of another is ended, and not before its time", () =>
  withRuns(async ({ watcher, lookAfter, isEnded }) => {
    await watcher.beat();
    for (let ms = watcher.beatMs; ms < deadAfterMs; ms += watcher.beatMs)
      expect(await lookAfter(watcher.beatMs)).toBe(false);
    expect(await isEnded()).toBe(false);
    expect(await lookAfter(watcher.beatMs)).toBe(true);
    expect(await isEnded()).toBe(true);
  }));

test("whoever could not look for a while takes nobody for dead because of that while", () =>
  withRuns(async ({ watcher, lookAfter, isEnded }) => {
    await watcher.beat();
    for (const awayMs of [10 * deadAfterMs, deadAfterMs, deadAfterMs - 1])
      expect(await lookAfter(awayMs)).toBe(false);
    expect(await isEnded()).toBe(false);
  }));

test("a run that is slow to show itself, and does, is never ended", () =>
  withRuns(async ({ watcher, watched, lookAfter, isEnded }) => {
    for (let beats = 0; beats < 20; beats++) {
      await watched.beat();
      for (let looks = 0; looks < 6; looks++) expect(await lookAfter(watcher.beatMs)).toBe(false);
    }
    expect(await isEnded()).toBe(false);
  }));

test("a run that shows itself while somebody is about to end it lives on", () =>
  withRuns(async ({ watcher, watched, lookAfter, isEnded, db }) => {
    await watcher.beat();
    for (let ms = watcher.beatMs; ms < deadAfterMs; ms += watcher.beatMs) await lookAfter(watcher.beatMs);
    const waiting =
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    const [looking] = await db.write(async (query) => {
      // As a hold does, and whoever ends the run waits for it.
      await query("SELECT id FROM run WHERE id = $1 FOR KEY SHARE", [watched.current() ?? null]);
      const found = lookAfter(watcher.beatMs);
      while ((await db.read(waiting)).length === 0) await Bun.sleep(5);
      await watched.beat();
      return [found];
    });
    expect(await looking).toBe(false);
    expect(await isEnded()).toBe(false);
  }));

test("a run that was ended goes on as one new run, however many find out at once", () =>
  withRuns(async ({ watcher, watched, lookAfter, isEnded }) => {
    const before = watched.current();
    if (before === undefined) throw new Error("It has not begun.");
    await watcher.beat();
    while (!(await isEnded())) await lookAfter(watcher.beatMs);
    await Promise.all([watched.beat(), watched.goOnAfter(before), watched.goOnAfter(before)]);
    expect(watched.current()).toBe(before + 1n);
    await watched.goOnAfter(before);
    expect(watched.current()).toBe(before + 1n);
  }));

test("how many nodes there are is told at the beginning and with each sign of life, without those that ended", () =>
  withRuns(async ({ watcher, watched, nodesSeen }) => {
    await watcher.beat();
    await watched.end();
    await watcher.beat();
    expect(nodesSeen).toEqual([1, 2, 1]);
  }));
