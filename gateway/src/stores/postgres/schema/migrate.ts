import type { Database } from "../server/database.ts";
import type { Query } from "../server/query.ts";
import { migrations } from "./migrations.ts";

/** Any number, as long as nobody else who locks by number in this database has the same. */
const migrationLock = 7_025_193_811n;
const migrationPatienceMs = 60_000;

/**
 * Brings the database forward to this program's schema. Refuses one that lacks letters, one made by a newer program, and to
 * change it under nodes of an earlier version: they would go on writing what they find no place for any more.
 */
export async function migrate(
  db: Database,
  watchedMs: number,
  steps: readonly string[] = migrations,
): Promise<{ readonly from: number; readonly to: number } | undefined> {
  await checkEncoding(db.readPatiently);
  const found = await versionOf(db.readPatiently);
  if (found === steps.length) return undefined;
  const runs = found > 0 && found < steps.length ? await watchRuns(db, watchedMs) : [];
  return db.writePatiently(
    async (query) => {
      // Several processes start at once where a deployment is new.
      await query("SELECT pg_advisory_xact_lock($1)", [migrationLock]);
      await query("CREATE TABLE IF NOT EXISTS schema_version (version bigint NOT NULL)");
      const version = await versionOf(query);
      if (version === steps.length) return undefined;
      if (version > steps.length) throw new Error(newerVersion(version, steps));
      if (version > 0) await endRuns(query, runs);
      for (const step of steps.slice(version)) await query(step);
      await query("DELETE FROM schema_version");
      await query("INSERT INTO schema_version VALUES ($1)", [steps.length]);
      return version === 0 ? undefined : { from: version, to: steps.length };
    },
    migrationPatienceMs,
    { evenInDoubt: true, isLong: true },
  );
}

/** Throws when the database has been brought to another schema than this program's, which then must not write to it. */
export async function checkVersion(query: Query): Promise<void> {
  const version = await versionOf(query);
  if (version !== migrations.length) throw new Error(newerVersion(version, migrations));
}

/** Whether any Tollgate has been here. */
export const hasSchema = async (db: Database): Promise<boolean> => (await versionOf(db.readPatiently)) > 0;

/**
 * The schema that is there; undefined where no Tollgate has been. Throws for that of a newer program, and for a database that
 * lacks letters.
 */
export async function lookAtSchema(
  query: Query,
): Promise<{ readonly schema: number; readonly schemaKnown: number } | undefined> {
  await checkEncoding(query);
  const schema = await versionOf(query);
  if (schema > migrations.length) throw new Error(newerVersion(schema, migrations));
  return schema === 0 ? undefined : { schema, schemaKnown: migrations.length };
}

/** Callers write in all letters, and what one of them wrote must not keep the end of its call from being written. */
async function checkEncoding(query: Query): Promise<void> {
  const [shown] = await query<{ server_encoding: string }>("SHOW server_encoding");
  const encoding = shown?.server_encoding ?? "unknown";
  // The second one takes every byte for what it is.
  if (encoding !== "UTF8" && encoding !== "SQL_ASCII")
    throw new Error(`its encoding is ${encoding}; make it with ENCODING 'UTF8'.`);
}

async function versionOf(query: Query): Promise<number> {
  const [found] = await query<{ there: boolean }>(
    "SELECT to_regclass('schema_version') IS NOT NULL AS there",
  );
  if (found?.there !== true) return 0;
  const [row] = await query<{ version: bigint }>("SELECT version FROM schema_version");
  return Number(row?.version ?? 0n);
}

const newerVersion = (version: number, { length }: readonly string[]): string =>
  `The data was written by a newer Tollgate (schema ${version}; this program knows ${length}). ` +
  "Start that version, or restore an older backup.";

interface SeenRun {
  readonly id: bigint;
  readonly beats: bigint;
}

const lookAtRuns = (query: Query): Promise<readonly SeenRun[]> =>
  query<SeenRun>("SELECT id, beats FROM run WHERE ended_at_ms IS NULL");

/** Those that nobody has ended, as they were before so long a time that whoever lives has shown it meanwhile. */
async function watchRuns(db: Database, watchedMs: number): Promise<readonly SeenRun[]> {
  const seen = await lookAtRuns(db.readPatiently);
  if (seen.length > 0) await Bun.sleep(watchedMs);
  return seen;
}

/** Ends runs that stood still, so that whoever comes back under one of them has to ask whether it still may. */
async function endRuns(query: Query, before: readonly SeenRun[]): Promise<void> {
  // Nobody begins one now, or shows that it lives.
  await query("LOCK TABLE run IN EXCLUSIVE MODE");
  const beats = new Map(before.map((run) => [run.id, run.beats]));
  const alive = (await lookAtRuns(query)).filter((run) => beats.get(run.id) !== run.beats);
  if (alive.length > 0) {
    throw new Error(
      `Nodes of an earlier version are serving (${alive.length}). Stop them all before you start this one, ` +
        "or use the command of that version.",
    );
  }
  await query(
    "UPDATE run SET ended_at_ms = (extract(epoch FROM now()) * 1000)::bigint WHERE ended_at_ms IS NULL",
  );
}
