import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { withBooks, type TestBooks, type Caller } from "../../../ledger/conformance/shared-conformance.ts";
import { createCallLists } from "./call-lists.ts";
import { openDatabase } from "../file/database.ts";
import { openSqliteStore } from "../sqlite-store.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-lists-"));
  folders.push(folder);
  return join(folder, "tollgate.db");
}

/** Books in which a few calls are posted at a time, so that lists are moved again and again. */
async function withBusyLists(
  path: string,
  journalLinesMax: number,
  run: (books: TestBooks) => Promise<void>,
): Promise<void> {
  const open = () => openSqliteStore({ path, journalLinesMax });
  let store = open();
  const reopen = async () => {
    await store.close();
    return (store = open());
  };
  // What is proven of any books at the end is also that every ended call is listed once.
  await withBooks(async () => ({ store, reopen, close: () => store.close() }), run);
}

function callerAt(callers: readonly Caller[], at: number): Caller {
  const caller = callers[at];
  if (!caller) throw new Error(`There is no caller ${at}.`);
  return caller;
}

async function listOf(books: TestBooks, caller: Caller, limit: number): Promise<string[]> {
  const all = { before: undefined, operationId: undefined, status: undefined, keyId: undefined };
  return (await books.store().calls.list(caller.accountId, { ...all, limit })).calls.map(({ id }) => id);
}

async function chargesOf(books: TestBooks, { accountId }: Caller): Promise<string[]> {
  const page = await books.store().accounts.entries(accountId, { limit: 1_000, before: undefined });
  const entries = page && "entries" in page ? page.entries : [];
  return entries.filter(({ kind }) => kind === "charge").map(({ id }) => id);
}

function rowsOf(path: string): { waiting: number; listed: number } {
  const db = new Database(path, { readonly: true });
  const count = (table: string): number =>
    db.query<{ n: number }, []>(`SELECT count(*) AS n FROM ${table}`).get()?.n ?? 0;
  const rows = { waiting: count("unlisted"), listed: count("account_call") };
  db.close();
  return rows;
}

describe("lists of calls", () => {
  test("are whole at every moment and after restarts, and few calls wait to be listed", async () => {
    const path = newPath();
    await withBusyLists(path, 20, async (books) => {
      const callers = [await books.openCaller(), await books.openCaller(), await books.openCaller()];
      const made = callers.map((): string[] => []);
      for (let turn = 1; turn <= 900; turn++) {
        const who = turn % callers.length;
        const callId = await books.held(callerAt(callers, who), { amountMicros: 1n });
        await books.settle(callId, { units: 1 });
        made[who]?.unshift(callId);
        // Whoever reads has the journal posted; read all the time, it would put down one call at a time.
        const { waiting } = rowsOf(path);
        if (turn % 17 === 0 || waiting >= 16) {
          expect(await listOf(books, callerAt(callers, who), 50)).toEqual(made[who]?.slice(0, 50) ?? []);
          expect(await chargesOf(books, callerAt(callers, who))).toEqual(made[who] ?? []);
        }
        if (turn % 190 === 0) await books.restart();
        expect(waiting).toBeLessThan(40);
      }
      for (const [who, callIds] of made.entries())
        expect(await listOf(books, callerAt(callers, who), 1_000)).toEqual(callIds);
    });
    expect(rowsOf(path).listed).toBeGreaterThan(600);
  });

  test("are whole when another process posts as well", async () => {
    const path = newPath();
    await withBusyLists(path, 4, async (books) => {
      const caller = await books.openCaller();
      const rival = openSqliteStore({ path });
      const callIds: string[] = [];
      for (let turn = 0; turn < 150; turn++) {
        const [first, second] = [await books.held(caller), await books.held(caller)];
        await books.settle(first, { units: 0 });
        if (turn % 5 === 0) await rival.accounts.list();
        await books.settle(second, { units: 0 });
        callIds.unshift(second, first);
      }
      expect(await listOf(books, caller, 500)).toEqual(callIds);
      await rival.close();
    });
  });

  test("get what a transaction that was undone had moved, and nothing twice after a restart", () => {
    const db = openDatabase(newPath());
    const lists = createCallLists(db);
    const listed = (): string[] =>
      db
        .query<{ call_id: string }, []>("SELECT call_id FROM listed_call ORDER BY call_id")
        .all()
        .map(({ call_id }) => call_id);
    const callIds = Array.from({ length: 96 }, (_, number) => `call_${number + 100}`);
    for (let at = 0; at < callIds.length; at += 6)
      lists.add([[`acc_${Math.floor(at / 32)}`, callIds.slice(at, at + 6)]]);

    // Forgetting is what a restart does, too: the second begins again with what the first has moved.
    const outcomes = [
      { moves: 2, outcome: "ROLLBACK" },
      { moves: 2, outcome: "COMMIT" },
      { moves: 5, outcome: "COMMIT" },
    ];
    for (const { moves, outcome } of outcomes) {
      db.run("BEGIN");
      for (let move = 0; move < moves; move++) lists.move(1);
      db.run(outcome);
      expect(listed()).toEqual(callIds);
      lists.forget();
    }
    expect(db.query("SELECT number FROM unlisted").all()).toEqual([]);
    db.close();
  });
});
