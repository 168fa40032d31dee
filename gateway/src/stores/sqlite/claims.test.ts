import type { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClaims, type Claims } from "./claims.ts";
import { openDatabase } from "./database.ts";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0).toReversed()) close();
});

/** A file without anything in it but calls and their keys, as one process sees it. */
function openFile() {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-claims-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  return { open: (inMemoryMax?: number) => openProcess(join(folder, "tollgate.db"), inMemoryMax) };
}

function openProcess(path: string, inMemoryMax: number | undefined) {
  const db = openDatabase(path);
  closers.push(() => db.close());
  // Accounts, prices and runs are not what is tested here.
  db.run("PRAGMA foreign_keys = OFF");
  const claims = createClaims(db, inMemoryMax);
  let version: unknown;

  /** As a commit does it, or one that fails at its end. */
  const write = <Result>(work: () => Result, ending: "COMMIT" | "ROLLBACK" = "COMMIT"): Result => {
    db.run("BEGIN IMMEDIATE");
    const now = db.query<{ data_version: bigint }, []>("PRAGMA data_version").get()?.data_version;
    if (now !== version) claims.catchUp();
    version = ending === "COMMIT" ? now : undefined;
    const result = work();
    db.run(ending);
    if (ending === "COMMIT") claims.onCommit();
    else claims.onRollback();
    return result;
  };
  return { db, claims, write, ...verbs(db, claims) };
}

function verbs(db: Database, claims: Claims) {
  const has = (key: string, accountId = "acc_1"): string | undefined =>
    claims.mayHave(accountId, bytes(key)) ? claims.find(accountId, bytes(key))?.callId : undefined;
  const take = (key: string, callId: string, { accountId = "acc_1", atMs = 1_000 } = {}): void => {
    insertCall(db, callId, accountId, atMs);
    claims.take(
      { callId, accountId, createdAtMs: atMs },
      { keyHash: bytes(key), fingerprint: bytes("body") },
    );
  };
  const free = (key: string, callId: string): void =>
    claims.free({ callId, accountId: "acc_1", createdAtMs: 0 }, bytes(key));
  const end = (callId: string, atMs: number): void =>
    void db.query("UPDATE call SET state = 'released', settled_at_ms = ?2 WHERE id = ?1").run(callId, atMs);
  const rows = (table: "claim" | "idempotency"): number =>
    Number(db.query<{ n: bigint }, []>(`SELECT count(*) AS n FROM ${table}`).get()?.n);
  return { has, take, free, end, rows };
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function insertCall(db: Database, callId: string, accountId: string, atMs: number): void {
  db.query(
    `INSERT OR IGNORE INTO call (id, account_id, key_id, operation_id, state, held_micros, price_version, multiplier_ppm,
                                 run_id, created_at_ms) VALUES (?1, ?2, 'key', 'sold', 'held', 1, 'pv', 1, 1, ?3)`,
  ).run(callId, accountId, atMs);
}

describe("a transaction that is rolled back", () => {
  test("leaves the keys it took free, also when their places are given to others", () => {
    const { write, claims, has, take } = openFile().open();
    write(() => has("any"));
    write(() => take("mine", "call_1"), "ROLLBACK");
    expect(write(() => claims.mayHave("acc_1", bytes("mine")))).toBe(false);
    write(() => take("other", "call_2"));
    expect(write(() => [has("mine"), has("other")])).toEqual([undefined, "call_2"]);
  });

  test("leaves the keys it freed taken, also when they were looked for meanwhile", () => {
    const { write, has, take, free } = openFile().open();
    write(() => has("any"));
    write(() => take("mine", "call_1"));
    const seen = write(() => {
      free("mine", "call_1");
      return has("mine");
    }, "ROLLBACK");
    expect(seen).toBeUndefined();
    expect(write(() => has("mine"))).toBe("call_1");
  });

  test("hides nothing that another process writes in its place", () => {
    const file = openFile();
    const [one, other] = [file.open(), file.open()];
    one.write(() => one.has("any"));
    one.write(() => one.take("rolled back", "call_1"), "ROLLBACK");
    other.write(() => other.take("theirs", "call_2"));
    expect(one.claims.find("acc_1", bytes("theirs"))?.callId).toBe("call_2");
    expect(one.write(() => one.has("theirs"))).toBe("call_2");
  });
});

describe("a key", () => {
  test("that another process wrote down is taken, for whoever knew the others", () => {
    const file = openFile();
    const [one, other] = [file.open(), file.open()];
    one.write(() => one.take("first", "call_1"));
    expect(one.write(() => one.has("first"))).toBe("call_1");
    other.write(() => other.take("second", "call_2"));
    expect(one.write(() => one.has("second"))).toBe("call_2");
  });

  test("that another process had no room for in memory is taken, too", () => {
    const file = openFile();
    const [one, other] = [file.open(), file.open(1)];
    one.write(() => one.claims.forget(0, 1));
    other.write(() => other.has("any"));
    other.write(() => other.take("first", "call_1"));
    other.write(() => other.take("second", "call_2"));
    expect(one.write(() => [one.has("first"), one.has("second")])).toEqual(["call_1", "call_2"]);
  });

  test("is its account's, also where two accounts' keys have one mark", () => {
    const { write, has, take } = openFile().open();
    const [one, two] = accountsWithOneMark();
    write(() => take("k", "call_1", { accountId: one }));
    expect(write(() => [has("k", one), has("k", two)])).toEqual(["call_1", undefined]);
  });

  test("that is taken and freed again and again leaves nothing to look through", () => {
    const { write, claims, has, take, free } = openFile().open();
    for (let time = 1; time <= 20; time++) {
      expect(write(() => has("k"))).toBeUndefined();
      write(() => take("k", `call_${time}`));
      write(() => free("k", `call_${time}`));
    }
    write(() => has("k"));
    expect(write(() => claims.mayHave("acc_1", bytes("k")))).toBe(false);
  });

  test("beyond those that memory may hold is found in its own place, freed there, and after a restart", () => {
    const file = openFile();
    const { write, has, take, free, rows } = file.open(3);
    write(() => has("any"));
    const keys = ["a", "b", "c", "d", "e", "f"];
    for (const key of keys) write(() => take(key, `call_${key}`));
    expect([rows("claim"), rows("idempotency")]).toEqual([3, 3]);
    expect(write(() => keys.map((key) => has(key)))).toEqual(keys.map((key) => `call_${key}`));
    write(() => free("f", "call_f"));
    expect(write(() => has("f"))).toBeUndefined();
    const again = file.open(3);
    expect(again.write(() => keys.slice(0, 5).map((key) => again.has(key)))).toEqual(
      keys.slice(0, 5).map((key) => `call_${key}`),
    );
  });

  test("is forgotten when its call has ended before, however many there are; an open call keeps its own", () => {
    const { write, claims, has, take, end, rows } = openFile().open(100);
    write(() => has("any"));
    write(() => take("open", "call_open"));
    for (let n = 0; n < 300; n++) write(() => take(`${n}`, `call_${n}`));
    write(() => take("late", "call_late"));
    expect(rows("idempotency")).toBe(202);
    for (let n = 0; n < 300; n++) end(`call_${n}`, 5_000);
    end("call_late", 6_000);
    write(() => claims.forget(6_000, Number.POSITIVE_INFINITY));
    expect([rows("claim"), rows("idempotency")]).toEqual([1, 1]);
    expect(write(() => [has("open"), has("late"), has("7")])).toEqual(["call_open", "call_late", undefined]);
    // What was forgotten makes room in memory.
    for (let n = 0; n < 90; n++) write(() => take(`new ${n}`, `call_new_${n}`));
    expect([rows("claim"), rows("idempotency")]).toEqual([91, 1]);
  });

  test("is forgotten a few at a time where only a few were asked for, the oldest first", () => {
    const { write, claims, take, end, rows, has } = openFile().open();
    for (let n = 0; n < 200; n++) write(() => take(`${n}`, `call_${n}`));
    for (let n = 0; n < 200; n++) end(`call_${n}`, 5_000);
    write(() => claims.forget(6_000, 70));
    expect(rows("claim")).toBe(130);
    expect(write(() => [has("69"), has("70")])).toEqual([undefined, "call_70"]);
  });
});

/** Some tens of thousands of names are enough for two with one mark of 32 bits. */
function accountsWithOneMark(): [string, string] {
  const seen = new Map<number, string>();
  const seed = bytes("k")[0] ?? 0;
  for (let n = 0; ; n++) {
    const name = `acc_${n}`;
    const mark = Bun.hash.xxHash32(name, seed);
    const other = seen.get(mark);
    if (other !== undefined) return [other, name];
    seen.set(mark, name);
  }
}
