import { Database } from "bun:sqlite";
import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "./database.ts";
import { migrate, schemaVersion, versionOf } from "./migrations.ts";
import { openSqliteStore } from "./sqlite-store.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-schema-"));
  folders.push(folder);
  return join(folder, "data", "tollgate.db");
}

const schemaOf = (db: Database): unknown[] =>
  db.query("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").all();

describe("the schema", () => {
  test("a fresh file gets the newest schema, in a folder made for it", () => {
    const db = openDatabase(newPath());
    expect(versionOf(db)).toBe(schemaVersion);
    expect(schemaOf(db).length).toBeGreaterThan(10);
    db.close();
  });

  test("a file that is opened again is left as it is", () => {
    const path = newPath();
    const first = openDatabase(path);
    const schema = schemaOf(first);
    first.run("INSERT INTO installation VALUES ('name', 'value')");
    first.close();
    const again = openDatabase(path);
    expect(schemaOf(again)).toEqual(schema);
    expect(again.query("SELECT value FROM installation").all()).toEqual([{ value: "value" }]);
    again.close();
  });

  test("a file of a newer program is refused in a sentence, and stays untouched", () => {
    const path = newPath();
    const newer = openDatabase(path);
    newer.run(`PRAGMA user_version = ${schemaVersion + 1}`);
    newer.close();
    const sentence = `written by a newer Tollgate (schema ${schemaVersion + 1}; this program knows ${schemaVersion})`;
    expect(() => openDatabase(path)).toThrow(sentence);
    const db = new Database(path);
    expect(db.query("PRAGMA user_version").get()).toEqual({ user_version: schemaVersion + 1 });
    db.close();
  });

  test("programs that open a fresh folder at the same moment all succeed", async () => {
    const path = newPath();
    const program = `import { openDatabase } from ${JSON.stringify(join(import.meta.dir, "database.ts"))};
      openDatabase(process.argv[1]).close();`;
    const children = Array.from({ length: 6 }, () =>
      Bun.spawn([process.execPath, "-e", program, path], { stderr: "pipe" }),
    );
    const errors = await Promise.all(children.map((child) => new Response(child.stderr).text()));
    expect(errors.filter((text) => text !== "")).toEqual([]);
    expect(await Promise.all(children.map((child) => child.exited))).toEqual([0, 0, 0, 0, 0, 0]);
  });

  test("a migration that another program ran meanwhile is not run again", () => {
    const path = newPath();
    const db = openDatabase(path);
    // A program that read the version just before the other one committed sees this.
    let reads = 0;
    const late: Database = Object.create(db, {
      query: {
        value: (sql: string) =>
          sql.includes("user_version") && reads++ === 0
            ? { get: () => ({ user_version: 0n }) }
            : db.query(sql),
      },
      transaction: { value: db.transaction.bind(db) },
      run: { value: db.run.bind(db) },
    }) as Database;
    expect(() => migrate(late)).not.toThrow();
    expect(versionOf(db)).toBe(schemaVersion);
    db.close();
  });
});

describe("what is promised of every file", () => {
  test("every commit is on disk before anybody is told", () => {
    const db = openDatabase(newPath());
    expect(db.query("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    expect(db.query("PRAGMA synchronous").get()).toEqual({ synchronous: 2n });
    expect(db.query("PRAGMA foreign_keys").get()).toEqual({ foreign_keys: 1n });
    db.close();
  });

  test("entries can be added, but neither changed nor removed", async () => {
    const path = newPath();
    const store = openSqliteStore({ path });
    const account = { id: "acc_1", name: "n", tier: "free", planMultiplierPpm: 1n, nowMs: 1 } as const;
    await store.accounts.create({ ...account, creditMicros: 7n });
    await store.close();
    const db = new Database(path);
    for (const sql of [
      "UPDATE entry SET amount_micros = 8 WHERE party = 'acc_1'",
      "UPDATE entry SET memo = 'x'",
      "DELETE FROM entry WHERE party = 'acc_1'",
      "DELETE FROM entry",
    ]) {
      expect(() => db.run(sql)).toThrow("append-only");
    }
    expect(db.query("SELECT sum(amount_micros) AS total, count(*) AS n FROM entry").get()).toEqual({
      total: 0,
      n: 2,
    });
    db.close();
  });

  test("the file itself refuses money that does not add up", async () => {
    const path = newPath();
    const store = openSqliteStore({ path });
    const account = { id: "acc_1", name: "n", tier: "free", planMultiplierPpm: 1n, nowMs: 1 } as const;
    await store.accounts.create({ ...account, creditMicros: 7n });
    await store.close();
    const db = new Database(path);
    for (const change of [
      "held_micros = 8",
      "held_micros = -1",
      "posted_micros = -1",
      "posted_micros = 1.5",
      "posted_micros = 'much'",
      "charge_carry_atto = 1000000000000",
      "value_carry_pico = -1",
    ]) {
      expect(() => db.run(`UPDATE account SET ${change}`)).toThrow();
    }
    db.close();
  });
});
