import type { Database } from "bun:sqlite";
import type { BegunMove } from "../../move-books.ts";

// What says that the books of this file have gone elsewhere, or are on their way: rows for programs that open it, and
// triggers for those that had it open before, or are too old to know the rows.

interface MovedMark extends BegunMove {
  readonly hasArrived: boolean;
}

export function readMovedMark(db: Database): MovedMark | undefined {
  const find = db.query<{ value: string }, [string]>("SELECT value FROM installation WHERE name = ?1");
  const id = find.get("move_id")?.value;
  const to = find.get("move_to")?.value;
  if (id === undefined || to === undefined) return undefined;
  const place = find.get("move_place")?.value ?? "a place that was not written down";
  return { id, to, place, hasArrived: find.get("move_arrived") !== null };
}

/** Refuses books that nobody may use here any more. */
export function checkNotMoved(db: Database, path: string): void {
  const mark = readMovedMark(db);
  if (!mark) return;
  throw new Error(
    mark.hasArrived
      ? `The books of ${path} were moved to ${mark.to}. Set TOLLGATE_STORE to it.`
      : `The books of ${path} are being moved to ${mark.to}, or a move broke off. "tollgate move" ends it; ` +
          '"tollgate move --undo" opens the file again, if nothing has arrived.',
  );
}

/** From here on nobody can write, not even who had the file open before. */
export function closeForMove(db: Database, { id, to, place }: BegunMove): void {
  db.transaction(() => {
    checkPosted(db);
    for (const table of guardedTables(db))
      for (const change of changes)
        db.run(`CREATE TRIGGER ${triggerOf(table, change)} BEFORE ${change} ON ${table}
                BEGIN SELECT RAISE(ABORT, 'the books of this file have been moved'); END`);
    db.query("INSERT INTO installation VALUES ('move_id', ?1), ('move_to', ?2), ('move_place', ?3)").run(
      id,
      to,
      place,
    );
  }).immediate();
}

export function reopen(db: Database): void {
  db.transaction(() => {
    for (const table of guardedTables(db))
      for (const change of changes) db.run(`DROP TRIGGER IF EXISTS ${triggerOf(table, change)}`);
    db.run("DELETE FROM installation WHERE name IN ('move_id', 'move_to', 'move_place')");
  }).immediate();
}

export const markArrived = (db: Database): void =>
  void db.run("INSERT INTO installation VALUES ('move_arrived', 'yes')");

const changes = ["INSERT", "UPDATE", "DELETE"] as const;

const triggerOf = (table: string, change: string): string => `moved_${table}_${change.toLowerCase()}`;

/** All but the one that says so. */
const guardedTables = (db: Database): readonly string[] =>
  db
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' AND name <> 'installation'",
    )
    .all()
    .map(({ name }) => name);

/** What the journal says would be left behind. */
function checkPosted(db: Database): void {
  if (db.query("SELECT number FROM journal LIMIT 1").get() !== null)
    throw new Error("Somebody serves these books.");
}
