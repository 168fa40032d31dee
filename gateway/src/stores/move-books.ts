import { InDoubt } from "../ledger/store-errors.ts";
import { messageOf } from "../platform/error-message.ts";

/** Some rows of a table, by the names of columns that they have where they go. */
export interface TableRows {
  readonly table: string;
  readonly rows: readonly Readonly<Record<string, string | bigint | Uint8Array | null>>[];
}

/** Books that are to move. Nobody serves them. */
export interface OldBooks {
  readonly name: string;
  /** The fingerprint of the secret that they were written under; undefined where there was none yet. */
  readonly fingerprint: string | undefined;
  /** The move that they are closed for, should one have broken off. */
  readonly begun: BegunMove | undefined;
  /** Ends what a server left open, proves the books, and lets nobody write to them any more. */
  readonly close: (move: BegunMove) => Promise<void>;
  /** All of them, in an order in which no row names one that comes later. May be read again. */
  readonly rows: () => Iterable<TableRows>;
  readonly reopen: () => void;
  /** They have arrived, and stay closed here. */
  readonly leave: () => void;
}

export interface BegunMove {
  readonly id: string;
  /** The name of the place that they go to, for people. */
  readonly to: string;
  /** Which place that is. */
  readonly place: string;
}

/** Where books move to. */
export interface NewBooks {
  readonly name: string;
  /** What the place is by its own account: it may be called by several names, and several by one. */
  readonly place: string;
  /** The fingerprint of the secret that they will be read under. */
  readonly fingerprint: string;
  /** Whether a move has arrived. Nothing of it arrives later when the answer is no. */
  readonly hasTaken: (moveId: string) => Promise<boolean>;
  /** Takes all rows and proves them, or nothing. Undefined when the move had arrived before. */
  readonly take: (moveId: string, old: OldBooks) => Promise<MovedRows | undefined>;
}

/** How many came of each table. */
export type MovedRows = Readonly<Record<string, number>>;

export interface MoveReport {
  readonly from: string;
  readonly to: string;
  /** Undefined when they had been taken before, and only the end of that was missing. */
  readonly rows: MovedRows | undefined;
}

/**
 * Moves everything that one store has to another, so that at no moment both can be written: the old books are closed first,
 * and opened again only when the new ones certainly have nothing. A move that broke off is ended by another one.
 */
export async function moveBooks(old: OldBooks, fresh: NewBooks, newId: () => string): Promise<MoveReport> {
  checkSecret(old, fresh);
  checkPlace(old, fresh);
  const move = old.begun ?? { id: newId(), to: fresh.name, place: fresh.place };
  if (!old.begun) await old.close(move);
  let rows: MovedRows | undefined;
  try {
    rows = await fresh.take(move.id, old);
  } catch (error) {
    // What an earlier attempt sent may still arrive, whatever became of this one.
    const mayArrive = old.begun !== undefined || error instanceof InDoubt;
    if (mayArrive) throw new Error(staysClosed(old, fresh, error), { cause: error });
    old.reopen();
    throw error;
  }
  old.leave();
  return { from: old.name, to: fresh.name, rows };
}

/** Opens books again that were closed for a move, when nothing of them has arrived. */
export async function undoMove(old: OldBooks, fresh: NewBooks): Promise<void> {
  if (!old.begun) throw new Error(`No move of ${old.name} has begun.`);
  checkPlace(old, fresh);
  if (await fresh.hasTaken(old.begun.id))
    throw new Error(
      `The books of ${old.name} are in ${fresh.name}. Move them once more, which ends the move.`,
    );
  old.reopen();
}

/** Only the place that a move was to can tell whether it has arrived. */
function checkPlace({ name, begun }: OldBooks, fresh: NewBooks): void {
  if (!begun || begun.place === fresh.place) return;
  throw new Error(
    `A move of ${name} to ${begun.to} (${begun.place}) broke off, and may have arrived there. TOLLGATE_STORE names ` +
      `${fresh.name} (${fresh.place}). Set it to the first, and end that move.`,
  );
}

/** Under another secret no key would be recognised and no token opened. */
function checkSecret(old: OldBooks, fresh: NewBooks): void {
  if (old.fingerprint === undefined || old.fingerprint === fresh.fingerprint) return;
  throw new Error(
    `TOLLGATE_SECRET is not the secret of ${old.name}. Set it to what stands in the file "secret" beside it, ` +
      "or to what it was for the server that wrote there. Is there a line break at its end?",
  );
}

const staysClosed = (old: OldBooks, fresh: NewBooks, error: unknown): string =>
  `The move did not end (${messageOf(error)}), and ${old.name} stays closed, because ` +
  `${fresh.name} may have its books. "tollgate move" once more finds out and ends it; "tollgate move --undo" opens the ` +
  "file again, if nothing has arrived.";
