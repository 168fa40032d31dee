import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { grantsConformance } from "../../ledger/grants-conformance.ts";
import { ledgerConformance } from "../../ledger/ledger-conformance.ts";
import { failureOf, withBooks, type OpenStore } from "../../ledger/shared-conformance.ts";
import { tasksConformance } from "../../tasks/tasks-conformance.ts";
import { openSqliteStore } from "./sqlite-store.ts";

let newestPath = "";

const openStore: OpenStore = async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-ledger-"));
  const path = join(folder, "tollgate.db");
  newestPath = path;
  let store = openSqliteStore({ path });
  return {
    store,
    reopen: async () => {
      await store.close();
      return (store = openSqliteStore({ path }));
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
