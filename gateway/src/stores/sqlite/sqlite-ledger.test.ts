import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { grantsConformance } from "../../ledger/grants-conformance.ts";
import { ledgerConformance } from "../../ledger/ledger-conformance.ts";
import { receiptsConformance } from "../../ledger/receipts-conformance.ts";
import { failureOf, middayMs, withBooks, type OpenStore } from "../../ledger/shared-conformance.ts";
import { tasksConformance } from "../../tasks/tasks-conformance.ts";
import { usageConformance } from "../../usage/usage-conformance.ts";
import { openSqliteStore, type SqliteStoreOptions } from "./sqlite-store.ts";

let newestPath = "";

const openStore: OpenStore = () => openWith({});
const openWith = async (options: Partial<SqliteStoreOptions>): ReturnType<OpenStore> => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-ledger-"));
  const path = join(folder, "tollgate.db");
  newestPath = path;
  let store = openSqliteStore({ path, ...options });
  return {
    store,
    reopen: async () => {
      await store.close();
      return (store = openSqliteStore({ path, ...options }));
    },
    close: async () => {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

ledgerConformance("SQLite", openStore);
tasksConformance("SQLite", openStore);
grantsConformance("SQLite", openStore);

// Few histories are long enough to be filed while they run; these are, all the time.
describe.each([1, 3])("SQLite, filing after %d ended calls", (daybookRowsMax) => {
  usageConformance(() => openWith({ daybookRowsMax }));
  receiptsConformance(() => openWith({ daybookRowsMax }));
});

test("SQLite: usage and lists are whole before and after filing", () =>
  withBooks(
    () => openWith({ daybookRowsMax: 5 }),
    async (books) => {
      const caller = await books.openCaller({ creditMicros: 100_000n });
      const callIds: string[] = [];
      const today = (middayMs - (middayMs % 86_400_000)) / 1000;
      for (let ended = 1; ended <= 12; ended++) {
        const callId = await books.held(caller);
        callIds.unshift(callId);
        await books.settle(callId, { units: 60 });
        const { calls, usage, auditor } = books.store();
        const filter = { before: undefined, operationId: undefined, status: undefined, keyId: undefined };
        const listed = await calls.list(caller.accountId, { ...filter, limit: 50 });
        const daySums = await usage.sums({ accountId: caller.accountId, keyId: undefined }, [
          { source: "day", fromSeconds: today, toSeconds: today + 86_400 },
        ]);
        expect(listed.map(({ id }) => id)).toEqual(callIds.toSorted().toReversed());
        expect(daySums.reduce((sum, { requests }) => sum + requests, 0)).toBe(ended);
        expect((await auditor.audit()).findings).toEqual([]);
      }
    },
  ));

test("SQLite: a run on holds that do not add up is refused, and nothing is held in it", () =>
  withBooks(openStore, async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    await books.reopen();
    const db = new Database(newestPath);
    const setHeld = (micros: number) => db.run(`UPDATE account SET held_micros = ${micros}`);
    setHeld(7);
    const sentence = `Account ${caller.accountId}: held 7, open calls hold 0. Run "tollgate audit"`;
    expect(await failureOf(books.store().ledger.beginRun(1))).toContain(sentence);
    expect(await failureOf(books.hold(caller))).toContain("before the run has begun");
    setHeld(0);
    db.close();
    await books.store().ledger.beginRun(2);
    expect(await books.hold(caller)).toEqual({ kind: "held" });
  }));

test("SQLite: a question that SQLite ends by itself fails with its own error, and nothing stays of it", () =>
  withBooks(openStore, async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    const db = new Database(newestPath);
    // As on a full disk: the whole transaction is rolled back under the savepoint of the question.
    db.run(`CREATE TRIGGER no_room BEFORE UPDATE ON account BEGIN SELECT RAISE(ROLLBACK, 'no room'); END`);
    expect(await failureOf(books.wouldHold(caller))).toContain("no room");
    db.run("DROP TRIGGER no_room");
    db.close();
    expect(await books.wouldHold(caller)).toEqual({ kind: "held" });
    expect(await books.hold(caller, { amountMicros: 1_000n })).toEqual({ kind: "held" });
  }));

test("SQLite: a call that somebody else has ended is not ended again from memory", () =>
  withBooks(openStore, async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    const callId = await books.held(caller);
    const other = openSqliteStore({ path: newestPath });
    expect(await other.ledger.beginRun(middayMs)).toMatchObject({ releasedCalls: 1 });
    await other.close();
    // With another hold on the account no constraint of its row would notice that the first one ends twice.
    await books.held(caller);
    expect(await books.settle(callId, { units: 60 })).toMatchObject({ first: false, state: "released" });
    expect((await books.store().auditor.audit()).findings).toEqual([]);
  }));

test("SQLite: every charge is two entries that sum to zero, and balances are their sums", () =>
  withBooks(openStore, async (books) => {
    const caller = await books.openCaller({ creditMicros: 1_000n });
    const [plain, above] = [await books.held(caller), await books.held(caller)];
    await books.settle(plain, { units: 60 });
    await books.settle(above, { units: 130 });
    const db = new Database(newestPath, { readonly: true });
    const entries = db
      .query(
        "SELECT kind, party, amount_micros FROM entry WHERE transfer_id = ?1 ORDER BY kind, amount_micros",
      )
      .all(above);
    expect(entries).toEqual([
      { kind: "charge", party: caller.accountId, amount_micros: -100 },
      { kind: "charge", party: "house:revenue", amount_micros: 100 },
      { kind: "write_off", party: "house:write_offs", amount_micros: -30 },
      { kind: "write_off", party: "house:revenue", amount_micros: 30 },
    ]);
    expect(db.query("SELECT sum(amount_micros) AS total FROM entry").get()).toEqual({ total: 0 });
    const own = db
      .query("SELECT sum(amount_micros) AS total FROM entry WHERE party = ?1")
      .get(caller.accountId);
    expect(own).toEqual({ total: 840 });
    db.close();
  }));
