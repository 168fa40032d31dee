import type { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClaims, type Claims } from "./claims.ts";
import { openDatabase } from "../file/database.ts";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0).toReversed()) close();
});

/** A file without anything in it but calls and their keys, as one process sees it. */
function openFile() {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-claims-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "tollgate.db");
  const openServer = (inMemoryMax?: number) => {
    const server = openProcess(path, inMemoryMax);
    server.claims.load();
    return server;
  };
  return { openServer, openCommand: () => openProcess(path, undefined) };
}

function openProcess(path: string, inMemoryMax: number | undefined) {
  const db = openDatabase(path);
  closers.push(() => db.close());
  // Accounts, prices and runs are not what is tested here.
  db.run("PRAGMA foreign_keys = OFF");
  const claims = createClaims(db, 12_345, inMemoryMax);
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
    const { write, claims, has, take } = openFile().openServer();
    write(() => take("older", "call_0"));
    write(() => take("mine", "call_1"), "ROLLBACK");
    expect(write(() => claims.mayHave("acc_1", bytes("mine")))).toBe(false);
    write(() => take("other", "call_2"));
    expect(write(() => [has("mine"), has("other")])).toEqual([undefined, "call_2"]);
  });

  test("leaves the keys it freed taken, also when they were looked for meanwhile", () => {
    const { write, has, take, free } = openFile().openServer();
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
    const [one, other] = [file.openServer(), file.openServer()];
    one.write(() => one.take("older", "call_0"));
    one.write(() => one.take("rolled back", "call_1"), "ROLLBACK");
    other.write(() => other.take("theirs", "call_2"));
    expect(one.claims.find("acc_1", bytes("theirs"))?.callId).toBe("call_2");
    expect(one.write(() => one.has("theirs"))).toBe("call_2");
  });
});

describe("a key", () => {
  test("is not looked for among others that were chosen to look like it", () => {
    const { write, claims, has, take } = openFile().openServer();
    const lookingAlike = Array.from({ length: 100 }, (_, number) => `same ${number}`);
    write(() => lookingAlike.forEach((key, number) => take(key, `call_${number}`)));
    expect(write(() => lookingAlike.map((key) => has(key)))).toEqual(lookingAlike.map((_, n) => `call_${n}`));
    const others = Array.from({ length: 100 }, (_, number) => `same other ${number}`);
    expect(write(() => others.filter((key) => claims.mayHave("acc_1", bytes(key))))).toEqual([]);
  });

  test("that another process wrote down is taken, for whoever knew the others", () => {
    const file = openFile();
    const [one, other] = [file.openServer(), file.openServer()];
    one.write(() => one.take("first", "call_1"));
    expect(one.write(() => one.has("first"))).toBe("call_1");
    other.write(() => other.take("second", "call_2"));
    expect(one.write(() => one.has("second"))).toBe("call_2");
  });

  test("that a command wrote down is found by whoever looks outside a transaction", () => {
    const file = openFile();
    const [server, command] = [file.openServer(), file.openCommand()];
    server.write(() => server.claims.forget(0, 1));
    command.write(() => command.take("posted", "call_1"));
    expect(command.rows("idempotency")).toBe(1);
    expect(server.claims.find("acc_1", bytes("posted"))?.callId).toBe("call_1");
  });

  test("that another process had no room for in memory is taken, too", () => {
    const file = openFile();
    const [one, other] = [file.openServer(), file.openServer(1)];
    one.write(() => one.claims.forget(0, 1));
    other.write(() => other.take("first", "call_1"));
    other.write(() => other.take("second", "call_2"));
    expect(one.write(() => [one.has("first"), one.has("second")])).toEqual(["call_1", "call_2"]);
  });

  test("is its account's, also where two accounts' keys have one mark", () => {
    const { write, has, take } = openFile().openServer();
    const [one, two] = accountsWithOneMark();
    write(() => take("k", "call_1", { accountId: one }));
    expect(write(() => [has("k", one), has("k", two)])).toEqual(["call_1", undefined]);
  });

  test("that is taken and freed again and again leaves nothing to look through", () => {
    const { write, claims, has, take, free } = openFile().openServer();
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
    const { write, has, take, free, rows } = file.openServer(3);
    const keys = ["a", "b", "c", "d", "e", "f"];
    for (const key of keys) write(() => take(key, `call_${key}`));
    expect([rows("claim"), rows("idempotency")]).toEqual([3, 3]);
    expect(write(() => keys.map((key) => has(key)))).toEqual(keys.map((key) => `call_${key}`));
    write(() => free("f", "call_f"));
    expect(write(() => has("f"))).toBeUndefined();
    const again = file.openServer(3);
    expect(again.write(() => keys.slice(0, 5).map((key) => again.has(key)))).toEqual(
      keys.slice(0, 5).map((key) => `call_${key}`),
    );
  });

  test("is forgotten when its call has ended before, however many there are; an open call keeps its own", () => {
    const { write, claims, has, take, end, rows } = openFile().openServer(100);
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
    const { write, claims, take, end, rows, has } = openFile().openServer();
    for (let n = 0; n < 200; n++) write(() => take(`${n}`, `call_${n}`));
    for (let n = 0; n < 200; n++) end(`call_${n}`, 5_000);
    write(() => claims.forget(6_000, 10));
    expect(rows("claim")).toBe(136);
    expect(write(() => [has("63"), has("64")])).toEqual([undefined, "call_64"]);
  });

  test("is forgotten although many older ones are kept by calls that are still open", () => {
    const { write, claims, take, end, rows } = openFile().openServer();
    for (let n = 0; n < 200; n++) write(() => take(`${n}`, `call_${n}`));
    end("call_199", 5_000);
    write(() => claims.forget(6_000, 10));
    expect(rows("claim")).toBe(199);
  });

  test("that is there twice is the call's that is open or ended last, whatever clocks said when it was taken", () => {
    const file = openFile();
    const command = file.openCommand();
    command.write(() => command.take("k", "call_1", { atMs: 900_000 }));
    const { db, write, take, end, has } = file.openServer();
    end("call_1", 5_000);
    write(() => take("k", "call_2", { atMs: 8_000 }));
    expect(write(() => has("k"))).toBe("call_2");
    end("call_2", 9_000);
    expect(write(() => has("k"))).toBe("call_2");
    write(() => take("k", "call_3", { atMs: 7_000 }));
    expect(write(() => has("k"))).toBe("call_3");
    expect(db.query("SELECT call_id FROM idempotency").all()).toEqual([{ call_id: "call_1" }]);
  });

  test("is written where servers of earlier versions look, by whoever serves no calls", () => {
    const file = openFile();
    const [server, command] = [file.openServer(), file.openCommand()];
    command.write(() => command.take("k", "call_1"));
    expect([command.rows("claim"), command.rows("idempotency")]).toEqual([0, 1]);
    expect(server.write(() => server.has("k"))).toBe("call_1");
  });

  test("has the mark that it had in earlier versions", () => {
    const { db, write, take } = openFile().openServer();
    write(() => take("a key", "call_1", { accountId: "acc_1" }));
    expect(db.query("SELECT mark FROM claim").all()).toEqual([{ mark: 4_252_698_365n }]);
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
