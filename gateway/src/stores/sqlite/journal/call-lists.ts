import type { Database } from "bun:sqlite";

/**
 * Which ended calls an account has. An account's list is a place of its own in the file, so adding to a hundred lists
 * dirties a hundred pages; therefore a posting puts down what it has for all lists in one row, and what many postings
 * have put down is moved to the lists bit by bit, riding with later commits. Readers look at both (the view
 * `listed_call`), so nothing is late, and a move that is cut short by a crash is begun again: a call is listed once.
 */
export interface CallLists {
  /** Inside a transaction: calls that have ended, by account. */
  readonly add: (ended: Iterable<readonly [accountId: string, callIds: readonly string[]]>) => void;
  /** Inside a transaction: moves in the long run as many calls to their lists as asked for, if many are waiting. */
  readonly move: (calls: number) => void;
  /** Whatever is known in memory may be wrong: a transaction was rolled back, or another process wrote. */
  readonly forget: () => void;
}

/** Calls that wait, by account, and the last of the rows that hold them. */
interface Waiting {
  readonly byAccount: Map<string, string[]>;
  calls: number;
  rows: number;
  lastRow: bigint;
}

/** What is being moved, account by account, and how many calls of it should have been by now. */
interface Moving {
  readonly left: [accountId: string, callIds: string[]][];
  due: number;
  readonly lastRow: bigint;
}

/** Enough postings that a list gets a page full of calls at once, few enough that readers find what waits at once. */
const rowsMax = 16;
const callsMax = 16_384;
/** A move goes on with every commit, and should not take days where commits are small. */
const movedMin = 32;
/** Adding to a list dirties the pages around its end, however little it is: so all of an account is added at once, in bounds. */
const pieceMax = 256;

export function createCallLists(db: Database): CallLists {
  const sql = prepare(db);
  let waiting: Waiting | undefined;
  let moving: Moving | undefined;

  const readWaiting = (): Waiting => {
    const found: Waiting = { byAccount: new Map(), calls: 0, rows: 0, lastRow: 0n };
    for (const { number, lists } of sql.waiting.all()) {
      // Written below, in this shape.
      note(found, number, Object.entries(JSON.parse(lists) as Record<string, string[]>));
    }
    return found;
  };

  return {
    add: (ended) => {
      const lists = Object.fromEntries([...ended].filter(([, callIds]) => callIds.length > 0));
      if (Object.keys(lists).length === 0) return;
      const row = sql.insert.get(JSON.stringify(lists));
      if (row && waiting) note(waiting, row.number, Object.entries(lists));
    },
    move: (calls) => {
      if (!moving) {
        waiting ??= readWaiting();
        if (waiting.rows < rowsMax && waiting.calls < callsMax) return;
        moving = { left: [...waiting.byAccount].map(newestFirst), due: 0, lastRow: waiting.lastRow };
        waiting = { byAccount: new Map(), calls: 0, rows: 0, lastRow: waiting.lastRow };
      }
      moving.due += Math.max(calls, movedMin);
      for (let next = moving.left.at(-1); next; next = moving.left.at(-1)) {
        const [accountId, callIds] = next;
        const piece = Math.min(callIds.length, pieceMax);
        if (moving.due < piece) return;
        moving.due -= piece;
        // A list grows most cheaply in its own order.
        sql.list.run(accountId, JSON.stringify(callIds.splice(-piece).reverse()));
        if (callIds.length === 0) moving.left.pop();
      }
      sql.clear.run(moving.lastRow);
      moving = undefined;
    },
    forget: () => {
      waiting = undefined;
      moving = undefined;
    },
  };
}

/** Calls are taken from the end. */
const newestFirst = ([accountId, callIds]: [string, string[]]): [string, string[]] => [
  accountId,
  callIds.toReversed(),
];

function note(waiting: Waiting, row: bigint, lists: [accountId: string, callIds: readonly string[]][]): void {
  for (const [accountId, callIds] of lists) {
    const known = waiting.byAccount.get(accountId);
    if (known) known.push(...callIds);
    else waiting.byAccount.set(accountId, [...callIds]);
    waiting.calls += callIds.length;
  }
  waiting.rows++;
  waiting.lastRow = row;
}

function prepare(db: Database) {
  return {
    insert: db.query<{ number: bigint }, [string]>(
      "INSERT INTO unlisted (lists) VALUES (?1) RETURNING number",
    ),
    waiting: db.query<{ number: bigint; lists: string }, []>(
      "SELECT number, lists FROM unlisted ORDER BY number",
    ),
    list: db.query<never, [string, string]>(
      "INSERT OR IGNORE INTO account_call SELECT ?1, value FROM json_each(?2)",
    ),
    clear: db.query<never, [bigint]>("DELETE FROM unlisted WHERE number <= ?1"),
  };
}
