import { SQLiteError, type Database } from "bun:sqlite";
import type { Quantities } from "../../../prices/quantities.ts";
import { createCallLists } from "./call-lists.ts";
import { createCallRows } from "./call-rows.ts";
import type { Claims } from "./claims.ts";
import { dispatchedLine, endLine, heldLine, progressLine, readLines } from "./journal-line.ts";
import { createPosting } from "./posting.ts";
import type { CallEnd, HeldCall } from "../../held-call.ts";
import { createSheet } from "./sheet.ts";
import { messageOf } from "../../../platform/error-message.ts";

/**
 * What happened to calls and is not in the books yet: one row for each commit, written before anybody is told. A call
 * that is held is a line here; its row is written once, when it ends. Everything that sums up calls — balances, budgets,
 * usage, lists by account — is posted from here for many calls at once, for such rows cost many times a line, and would
 * be written twice for each call. The books and the journal together are the truth: whoever reads sums has the journal
 * posted first, in whatever process, and after every crash.
 */
export interface Journal {
  readonly hold: (call: HeldCall) => void;
  readonly dispatch: (call: HeldCall, atMs: number) => void;
  readonly progress: (call: HeldCall, used: Quantities) => void;
  readonly end: (call: HeldCall, end: CallEnd) => void;
  /** Whether the call has lines that are not posted, or a row in the books. */
  readonly knows: (callId: string) => boolean;
  /** Whether progress of the call was noted that is not in its row yet. */
  readonly hasProgress: (callId: string) => boolean;
  readonly hasClaim: (accountId: string, keyHash: Uint8Array) => boolean;
  /** Inside a transaction: from here on the books say everything. */
  readonly post: () => void;
  /** Whether nothing is left to post, by whomever it was written. */
  readonly isPosted: () => boolean;
  /**
   * At the beginning of a transaction: true when this process does not know what the file says, at first, after a
   * transaction was rolled back, and after another process wrote. Everything is posted then.
   */
  readonly catchUp: () => boolean;
  /**
   * At the end of a transaction: writes its lines down, or posts them when there are many, and moves some calls to the
   * lists they wait for. True when nothing is left to post.
   */
  readonly write: () => boolean;
  /** The transaction was rolled back, and with it what was noted. */
  readonly distrust: () => void;
}

/**
 * Enough that what sums up calls is written once for many of them; few enough to be posted within some milliseconds, in
 * which nobody else is served, whosever calls they are.
 */
const linesUsualMax = 2_048;
/** Lines of few callers add up to few rows, which take no longer for more lines. But after a crash all lines are read. */
const linesOfFewMax = 4 * linesUsualMax;
const rowsOfFewMax = 1_024;

export function createJournal(db: Database, claims: Claims, linesMax?: number): Journal {
  const sql = prepare(db);
  const rows = createCallRows(db);
  const lists = createCallLists(db);
  const posting = createPosting(db, { rows, lists, claims });
  const sheet = createSheet();
  let lines: string[] = [];
  let linesOnSheet = 0;
  let dataVersion: bigint | undefined;
  /** No call in the books has a greater id, so most new ids need not be looked for. */
  let newestRowId = "";

  const note = (line: string): void => {
    lines.push(line);
    linesOnSheet++;
  };

  const isFull = (): boolean =>
    linesOnSheet >= (linesMax ?? linesUsualMax) &&
    (linesOnSheet >= (linesMax ?? linesOfFewMax) ||
      // Each open call is a row of its own, and its account may be nobody else's.
      sheet.open.size + sheet.sums.countRows() >= rowsOfFewMax);

  const post = (): void => {
    if (sheet.isEmpty()) return;
    // Outside, another process may have posted the same lines.
    if (!db.inTransaction) throw new Error("The journal is posted inside a transaction.");
    for (const [callId] of sheet.open.entries()) if (callId > newestRowId) newestRowId = callId;
    posting.post(sheet);
    sql.clear.run();
    sheet.clear();
    lines = [];
    linesOnSheet = 0;
  };

  const readAgain = (): void => {
    sheet.clear();
    lines = [];
    linesOnSheet = 0;
    newestRowId = sql.newestCall.get()?.id ?? "";
    try {
      for (const row of sql.written.all()) readLines(row.lines, sheet, rows);
      post();
    } catch (error) {
      if (error instanceof SQLiteError && !isRefusal(error)) throw error;
      throw new BrokenJournal(error);
    }
  };

  return {
    hold: (call) => {
      sheet.hold(call);
      note(heldLine(call));
    },
    dispatch: (call, atMs) => {
      sheet.dispatch(call, atMs);
      note(dispatchedLine(call.callId, atMs));
    },
    progress: (call, used) => {
      sheet.progress(call, used);
      note(progressLine(call.callId, used));
    },
    end: (call, end) => {
      const ended = sheet.end(call, end);
      rows.writeEnd(ended, end);
      if (end.freedKeyHash) claims.free(call, end.freedKeyHash);
      // One that was open when its sheet was posted has its key already.
      else if (ended.isNew && call.claim) claims.take(call, call.claim);
      if (call.callId > newestRowId) newestRowId = call.callId;
      note(endLine(call.callId, end));
    },
    knows: (callId) =>
      sheet.open.has(callId) || (callId <= newestRowId && sql.callExists.get(callId) !== null),
    hasProgress: (callId) => sheet.open.get(callId)?.progress !== undefined,
    hasClaim: sheet.hasClaim,
    post,
    isPosted: () => sql.anyRow.get() === null,
    catchUp: () => {
      const now = sql.dataVersion.get()?.data_version ?? 0n;
      if (now === dataVersion) return false;
      dataVersion = now;
      lists.forget();
      claims.catchUp();
      readAgain();
      return true;
    },
    write: () => {
      const written = lines.length;
      if (isFull()) post();
      else if (written > 0) {
        sql.insert.run(`[${lines.join(",")}]`);
        lines = [];
      }
      if (written > 0) lists.move(written);
      return sheet.isEmpty();
    },
    distrust: () => {
      dataVersion = undefined;
    },
  };
}

/** Nothing goes on before it is understood: better stopped than wrong. */
export class BrokenJournal extends Error {
  readonly why: string;

  constructor(cause: unknown) {
    const why = messageOf(cause);
    super(`The journal contradicts the books: ${why} Run "tollgate audit" before serving.`, { cause });
    this.why = why;
  }
}

/** Whether the books refused a row; anything else is about the disk, or about who else writes. */
const isRefusal = ({ code }: SQLiteError): boolean => String(code).startsWith("SQLITE_CONSTRAINT");

function prepare(db: Database) {
  return {
    insert: db.query<never, [string]>("INSERT INTO journal (lines) VALUES (?1)"),
    written: db.query<{ lines: string }, []>("SELECT lines FROM journal ORDER BY number"),
    anyRow: db.query<{ number: bigint }, []>("SELECT number FROM journal LIMIT 1"),
    clear: db.query<never, []>("DELETE FROM journal"),
    /** Changes when another connection wrote to the file, and never by what this one writes. */
    dataVersion: db.query<{ data_version: bigint }, []>("PRAGMA data_version"),
    newestCall: db.query<{ id: string | null }, []>("SELECT max(id) AS id FROM call"),
    callExists: db.query<{ id: string }, [string]>("SELECT id FROM call WHERE id = ?1"),
  };
}
