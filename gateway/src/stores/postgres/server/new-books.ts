import type { OpeningEvents } from "../../data-place.ts";
import type { MovedRows, NewBooks, OldBooks, TableRows } from "../../move-books.ts";
import { openDatabase, type Database } from "./database.ts";
import { claimSecretIn } from "../installation-rows.ts";
import { hexOf, jsonOf } from "./json-rows.ts";
import { migrate } from "../schema/migrate.ts";
import { auditBooks } from "../postgres-audit.ts";
import { naming } from "../postgres-place.ts";
import { deadAfterUsualMs } from "../ledger/runs.ts";
import type { Query } from "./query.ts";

interface Parts extends OpeningEvents {
  readonly url: string;
  readonly name: string;
  /** The fingerprint of the secret that nodes will have. */
  readonly fingerprint: string;
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
  readonly patienceMs?: number;
  readonly idleInTransactionMs?: number;
  /** Called now and then: how many rows have come. */
  readonly onProgress: (rows: number) => void;
}

interface OpenedNewBooks {
  readonly books: NewBooks;
  readonly close: () => Promise<void>;
}

export async function openNewBooks(opening: Parts): Promise<OpenedNewBooks> {
  const { url, monotonicMs, idleInTransactionMs, onBroughtForward, ...parts } = opening;
  const db = openDatabase({ url, monotonicMs, connectionsMax: 2, idleInTransactionMs });
  try {
    const { forward, place } = await naming(parts.name, async () => ({
      forward: await migrate(db, deadAfterUsualMs),
      place: await placeOf(db.readPatiently),
    }));
    if (forward) onBroughtForward(forward);
    return { books: newBooks(db, { ...parts, place }), close: db.close };
  } catch (error) {
    await db.close();
    throw error;
  }
}

/**
 * By what the server says of itself, since one address may lead to several schemas, and after a change of names to another
 * server. By names within it, so that who has dropped what a move was to can make it again and go on there.
 */
async function placeOf(query: Query): Promise<string> {
  const [row] = await query<{ cluster: string; database: string; schema: string | null }>(
    `SELECT system_identifier::text AS cluster, current_database()::text AS database, current_schema()::text AS schema
     FROM pg_control_system()`,
  );
  if (!row) throw new Error("the server does not say which one it is.");
  return `schema ${row.schema} of database ${row.database} in cluster ${row.cluster}`;
}

interface TakingParts extends Omit<
  Parts,
  "url" | "monotonicMs" | "idleInTransactionMs" | "onBroughtForward"
> {
  readonly place: string;
}

function newBooks(db: Database, parts: TakingParts): NewBooks {
  const { name, place, fingerprint, wallMs, onProgress, patienceMs = patienceUsualMs } = parts;
  const take = async (query: Query, moveId: string, old: OldBooks): Promise<MovedRows | undefined> => {
    if (await arrived(query, moveId)) return undefined;
    if ((await claimSecretIn(query, fingerprint)) !== fingerprint)
      throw new Error(
        `${name} belongs to another secret than TOLLGATE_SECRET. Is there a line break at its end?`,
      );
    const moved = await insertBooks(query, old.rows(), { name, endedAtMs: wallMs(), onProgress });
    const { findings } = await auditBooks(query);
    const [finding] = findings;
    if (finding)
      throw new Error(
        `The books did not arrive as they were, and nothing was moved: ${finding.subject}: ${finding.detail}.`,
      );
    await query("INSERT INTO installation VALUES ('moved_from', $1)", [moveId]);
    return moved;
  };

  return {
    name,
    place,
    fingerprint,
    hasTaken: (moveId) => db.writePatiently((query) => arrived(query, moveId), patienceMs),
    take: (moveId, old) =>
      db.writePatiently((query) => take(query, moveId, old), patienceMs, { isLong: true, pauses: true }),
  };
}

const patienceUsualMs = 10_000;

/** Behind a lock, which waits for whatever is still on its way, and keeps nodes that start from beginning books here. */
async function arrived(query: Query, moveId: string): Promise<boolean> {
  await query("LOCK TABLE installation, run, account IN SHARE ROW EXCLUSIVE MODE");
  const found = await query("SELECT 1 FROM installation WHERE name = 'moved_from' AND value = $1", [moveId]);
  return found.length > 0;
}

interface Inserting {
  readonly name: string;
  readonly endedAtMs: number;
  readonly onProgress: (rows: number) => void;
}

/** Into empty tables. Whoever served the books has ended. */
export async function insertBooks(
  query: Query,
  books: Iterable<TableRows>,
  { name, endedAtMs, onProgress }: Inserting,
): Promise<MovedRows> {
  const moved: Record<string, number> = {};
  let all = 0;
  for (const { table, rows } of books) {
    if (moved[table] === undefined) await checkEmpty(query, table, name);
    moved[table] = (moved[table] ?? 0) + rows.length;
    await insert(query, table, rows);
    onProgress((all += rows.length));
  }
  await query("UPDATE run SET ended_at_ms = $1", [endedAtMs]);
  await query("SELECT setval(pg_get_serial_sequence('run', 'id'), greatest(max(id), 1)) FROM run");
  // The planner has never seen tables of this size, and what comes next looks at all of them.
  await query("ANALYZE");
  return moved;
}

async function checkEmpty(query: Query, table: string, name: string): Promise<void> {
  if ((await query(`SELECT 1 FROM ${table} LIMIT 1`)).length > 0)
    throw new Error(`${name} has books of its own (${table}). Books can only be moved to an empty database.`);
}

async function insert(query: Query, table: string, rows: TableRows["rows"]): Promise<void> {
  const [first] = rows;
  if (!first) return;
  const columns = Object.keys(first).join(", ");
  await query(
    `INSERT INTO ${table} (${columns}) OVERRIDING SYSTEM VALUE
     SELECT ${columns} FROM json_populate_recordset(NULL::${table}, $1::text::json)`,
    [jsonOf(rows.map(asText))],
  );
}

/** Everything as a text that Postgres reads as what its column is. */
const asText = (row: TableRows["rows"][number]): Record<string, string | null> =>
  Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      typeof value === "bigint" ? `${value}` : value instanceof Uint8Array ? `\\x${hexOf(value)}` : value,
    ]),
  );
