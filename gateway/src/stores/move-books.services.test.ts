// Books that move from a file to Postgres: all of them arrive, as they were, and at no moment two can be written.

import { Database } from "bun:sqlite";
import { SQL } from "bun";
import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { openTestDatabase } from "../../../test/services/postgres.ts";
import { InDoubt } from "../ledger/store-errors.ts";
import { unbound } from "../ledger/test-unbound.ts";
import { moveBooks, undoMove, type MoveReport, type NewBooks, type OldBooks } from "./move-books.ts";
import { openNewBooks } from "./postgres/server/new-books.ts";
import { openPostgresStore } from "./postgres/postgres-store.ts";
import { backUp } from "./sqlite/file/backup.ts";
import { openOldBooks, rowsOf, staying } from "./sqlite/file/old-books.ts";
import { takeServerLock } from "./sqlite/file/server-lock.ts";
import { openSqliteStore } from "./sqlite/sqlite-store.ts";
import { openAuditedBooks } from "./sqlite/test-audited-books.ts";
import { callsOn, day, minute, snapshotTerms, startMs } from "./test-audited-books.ts";

const fingerprint = "of the secret";
const monotonicMs = (): number => performance.now();
const wallMs = (): number => startMs + day + minute;
const onBroughtForward = (): void => {};
const { folder, sound, remove, tamperedWith } = await openAuditedBooks();
afterAll(remove);

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

describe("what arrives", () => {
  test("is every row of every table, and nothing else", async () => {
    const path = await copyWithEverything();
    const url = await openEmpty();
    const { rows } = await move(path, url);
    const file = openRaw(path);
    const tables = new Map<string, readonly object[]>();
    for (const { table, rows: some } of rowsOf(file))
      tables.set(table, [...(tables.get(table) ?? []), ...some]);
    expect([...tables.keys(), ...staying].toSorted()).toEqual(tablesOf(file));
    for (const [table, there] of tables) {
      expect([table, there.length > 0]).toEqual([table, true]);
      expect([table, rows?.[table]]).toEqual([table, there.length]);
      expect([table, await rowsIn(url, table, there)]).toEqual([table, inOrder(there)]);
    }
  });

  test("goes on where it was: calls left open were ended, a key of a call finds it, and new calls are held", async () => {
    const path = await copyWithEverything();
    const url = await openEmpty();
    await move(path, url);
    const store = await openPostgresStore({ url });
    cleanUps.push(() => store.close());
    expect(await store.ledger.beginRun(wallMs())).toMatchObject({ releasedCalls: 0, settledCalls: 0 });
    expect(await store.accounts.find("acc_a")).toMatchObject({ heldMicros: 48_000n });
    expect(await store.ledger.findEarlier("acc_a", claim, startMs + day)).toMatchObject({
      callId: "claimed_again",
    });
    const { hold, settle } = callsOn(store);
    await hold("new", "key_a", snapshotTerms, 48_000n, wallMs());
    await settle("new", snapshotTerms, { call: 1 }, wallMs());
    expect((await store.auditor.audit()).findings).toEqual([]);
  });
});

test("books whose file takes longer to find the next row than a transaction may idle arrive all the same", async () => {
  const idleInTransactionMs = 1_000;
  const slowly = (old: OldBooks): OldBooks => ({
    ...old,
    *rows() {
      for (const some of old.rows()) {
        if (some.table === "claim") Bun.sleepSync(1.5 * idleInTransactionMs);
        yield some;
      }
    },
  });
  const moved = await withBooks(
    copy(),
    await openEmpty(),
    (old, fresh) => moveBooks(slowly(old), fresh, () => Bun.randomUUIDv7()),
    { idleInTransactionMs },
  );
  expect(moved.rows).toMatchObject({ account: 3 });
});

describe("what earlier programs wrote", () => {
  test.each([
    ["month", Date.UTC(2026, 2, 1)],
    ["total", 0],
  ])("arrives too: budgets of one row for the %s", async (window, windowStartMs) => {
    const path = copy();
    const file = openRaw(path);
    const trigger = file
      .query<{ sql: string }, []>("SELECT sql FROM sqlite_schema WHERE name = 'ended_call_is_never_changed'")
      .get();
    file.run("DROP TRIGGER ended_call_is_never_changed");
    file.run("UPDATE key SET budget_window = ?1 WHERE id = 'key_day'", [window]);
    file.run(
      `CREATE TEMP TABLE whole AS SELECT sum(spent_micros) AS spent_micros, sum(held_micros) AS held_micros
       FROM budget WHERE key_id = 'key_day'`,
    );
    file.run("DELETE FROM budget WHERE key_id = 'key_day'");
    file.run("INSERT INTO budget SELECT 'key_day', ?1, spent_micros, held_micros, 0 FROM whole", [
      windowStartMs,
    ]);
    file.run(
      "UPDATE call SET budget_window_start_ms = ?1 WHERE key_id = 'key_day' AND budget_window_start_ms IS NOT NULL",
      [windowStartMs],
    );
    file.run(trigger?.sql ?? "");
    file.close();

    const url = await openEmpty();
    await move(path, url);
    const store = await openPostgresStore({ url });
    cleanUps.push(() => store.close());
    expect((await store.auditor.audit()).findings).toEqual([]);
  });
});

describe("the file that was left", () => {
  test("is opened by nobody, and says where its books are", async () => {
    const path = copy();
    const { to } = await move(path, await openEmpty());
    expect(() => openSqliteStore({ path })).toThrow(`were moved to ${to}`);
    expect(await failureOf(move(path, await openEmpty()))).toContain(`were moved to ${to} before`);
  });

  test("is not backed up, for a timer would go on with it for ever", async () => {
    const path = copy();
    const { to } = await move(path, await openEmpty());
    expect(await failureOf(backUp(path, `${path}.backup`))).toContain(`were moved to ${to}`);
    expect(existsSync(`${path}.backup`)).toBe(false);
  });

  test("takes nothing from whoever had it open before", async () => {
    const path = copy();
    const before = openSqliteStore({ path });
    cleanUps.push(() => before.close());
    await move(path, await openEmpty());
    const payment = { transferId: "late", accountId: "acc_a", amountMicros: 1n, nowMs: wallMs() };
    expect(await failureOf(before.accounts.topUp(payment))).toContain("have been moved");
    expect(await failureOf(before.ledger.beginRun(wallMs()))).toContain("have been moved");
  });
});

describe("books stay where they are", () => {
  test("while somebody serves them", async () => {
    const path = copy();
    const lock = takeServerLock(`${path}.lock`);
    expect(await failureOf(move(path, await openEmpty()))).toContain("is serving");
    lock?.release();
    await expectOpen(path);
  });

  test("while somebody serves them by another name", async () => {
    const path = copy();
    const link = `${path}.link`;
    symlinkSync(path, link);
    const lock = takeServerLock(`${path}.lock`);
    expect(await failureOf(move(link, await openEmpty()))).toContain("is serving");
    lock?.release();
    await expectOpen(path);
  });

  test("when they do not balance", async () => {
    const path = tamperedWith(["UPDATE account SET posted_micros = posted_micros + 1 WHERE id = 'acc_a'"]);
    const url = await openEmpty();
    expect(await failureOf(move(path, url))).toContain("do not balance");
    await expectOpen(path);
    await move(copy(), url);
  });

  test("when the database has books of its own", async () => {
    const path = copy();
    const url = await openEmpty();
    const others = await openPostgresStore({ url });
    const plain = { tier: "free", planMultiplierPpm: 1_000_000n, creditMicros: 0n, nowMs: startMs } as const;
    await others.accounts.create({ ...plain, id: "acc_other", name: "Other" });
    await others.close();
    expect(await failureOf(move(path, url))).toContain("has books of its own");
    await expectOpen(path);
    expect(await rowsIn(url, "call", [])).toEqual([]);
  });

  test("under another secret than they were written under, or than the database has", async () => {
    const path = copy();
    const store = openSqliteStore({ path });
    await store.claimSecret("of another");
    await store.close();
    expect(await failureOf(move(path, await openEmpty()))).toContain("is not the secret of");
    await expectOpen(path);

    const url = await openEmpty();
    const others = await openPostgresStore({ url });
    await others.claimSecret("of a third");
    await others.close();
    const another = copy();
    expect(await failureOf(move(another, url))).toContain("belongs to another secret");
    await expectOpen(another);
  });

  test("when what arrives does not balance", async () => {
    const path = copy();
    const url = await openEmpty();
    const failure = await failureOf(
      moveThrough(path, url, (fresh) => ({
        ...fresh,
        take: (moveId, old) =>
          fresh.take(moveId, {
            ...old,
            *rows() {
              for (const { table, rows } of old.rows())
                yield { table, rows: table === "payment" ? rows.slice(1) : rows };
            },
          }),
      })),
    );
    expect(failure).toContain("nothing was moved");
    await expectOpen(path);
    expect(await rowsIn(url, "account", [])).toEqual([]);
  });
});

describe("a move that broke off", () => {
  const lostAnswer = (fresh: NewBooks): NewBooks => ({
    ...fresh,
    take: async (moveId, old) => {
      await fresh.take(moveId, old);
      throw new InDoubt();
    },
  });
  const lostRows = (fresh: NewBooks): NewBooks => ({ ...fresh, take: () => Promise.reject(new InDoubt()) });

  test("after everything arrived is ended by the next one, which moves nothing twice", async () => {
    const path = copy();
    const url = await openEmpty();
    expect(await failureOf(moveThrough(path, url, lostAnswer))).toContain("may have its books");
    expect(() => openSqliteStore({ path })).toThrow('"tollgate move" ends it');
    expect(await failureOf(withBooks(path, url, undoMove))).toContain("Move them once more");
    expect((await move(path, url)).rows).toBeUndefined();
    expect(() => openSqliteStore({ path })).toThrow("were moved to");
  });

  test("before anything arrived is made again", async () => {
    const path = copy();
    const url = await openEmpty();
    await failureOf(moveThrough(path, url, lostRows));
    expect(() => openSqliteStore({ path })).toThrow('"tollgate move" ends it');
    expect((await move(path, url)).rows).toMatchObject({ account: 3 });
  });

  test("is known only where it was to: at another database it is neither ended nor undone", async () => {
    const path = copy();
    const url = await openEmpty();
    await failureOf(moveThrough(path, url, lostAnswer));
    const another = await openEmpty();
    const told = "A move of";
    expect(await failureOf(move(path, another))).toContain(told);
    expect(await failureOf(withBooks(path, another, undoMove))).toContain(told);
    expect((await move(path, url)).rows).toBeUndefined();
  });

  test("is known by the schema it was to, not by another one of the same database", async () => {
    const path = copy();
    const url = await openEmpty();
    const inSchema = async (schema: string): Promise<string> => {
      const sql = new SQL(url, { max: 1 });
      await sql.unsafe(`CREATE SCHEMA ${schema}`);
      await sql.close();
      return `${url}?search_path=${schema}`;
    };
    const there = await inSchema("there");
    await failureOf(moveThrough(path, there, lostAnswer));
    expect(await failureOf(withBooks(path, await inSchema("elsewhere"), undoMove))).toContain(
      "schema there of",
    );
    expect(() => openSqliteStore({ path })).toThrow("broke off");
    expect((await move(path, there)).rows).toBeUndefined();
  });

  test("is found again by whatever other name the same database is called", async () => {
    const path = copy();
    const url = await openEmpty();
    await failureOf(moveThrough(path, url, lostAnswer));
    const renamed = (fresh: NewBooks): NewBooks => ({ ...fresh, name: "postgres://by-another-name" });
    expect((await moveThrough(path, url, renamed)).rows).toBeUndefined();
  });

  test("and is still on its way keeps the file closed, whoever comes meanwhile", async () => {
    const path = copy();
    const url = await openEmpty();
    await failureOf(moveThrough(path, url, lostRows));
    const onItsWay = new SQL(url, { max: 1 });
    cleanUps.push(() => onItsWay.close());
    await onItsWay.begin(async (transaction) => {
      await transaction`LOCK TABLE installation IN SHARE ROW EXCLUSIVE MODE`;
      expect(await failureOf(move(path, url))).toContain("stays closed");
      expect(await failureOf(withBooks(path, url, undoMove))).not.toBe("nothing failed");
    });
    expect(() => openSqliteStore({ path })).toThrow("broke off");
    expect((await move(path, url)).rows).toMatchObject({ account: 3 });
  });

  test("can be undone when nothing arrived: the file is what it was", async () => {
    const path = copy();
    const url = await openEmpty();
    expect(await failureOf(withBooks(path, url, undoMove))).toContain("No move of");
    await failureOf(moveThrough(path, url, lostRows));
    await withBooks(path, url, undoMove);
    await expectOpen(path);
    const store = openSqliteStore({ path });
    await store.accounts.topUp({ transferId: "on", accountId: "acc_a", amountMicros: 5n, nowMs: wallMs() });
    await store.close();
    expect((await move(path, url)).rows).toMatchObject({ account: 3 });
  });
});

const claim = { keyHash: new Uint8Array(32).fill(7), fingerprint: new Uint8Array(32).fill(9) };

let copies = 0;
function copy(): string {
  const path = join(folder, `moving-${copies++}.db`);
  const file = openRaw(sound);
  file.run("PRAGMA wal_checkpoint(TRUNCATE)");
  file.close();
  copyFileSync(sound, path);
  return path;
}

/** A row in every table that the audited books have nothing in. */
async function copyWithEverything(): Promise<string> {
  const path = copy();
  const store = openSqliteStore({ path });
  await store.ledger.beginRun(startMs + day);
  await callsOn(store).hold("tasked", "key_a", snapshotTerms, 48_000n, startMs + day);
  const held = {
    accountId: "acc_a",
    keyId: "key_a",
    operationId: "financial.metrics.snapshot",
    model: undefined,
    terms: snapshotTerms,
    amountMicros: 48_000n,
    multiplierPpm: 1_000_000n,
    ...unbound,
  } as const;
  const again = { ...held, callId: "claimed_again", createdAtMs: startMs + day, idempotency: claim };
  expect(await store.ledger.hold(again)).toEqual({ kind: "held" });
  await callsOn(store).settle("claimed_again", snapshotTerms, { call: 1 }, startMs + day);
  await store.close();
  const file = openRaw(path);
  for (const statement of oneOfEach) file.run(statement);
  file.close();
  return path;
}

const oneOfEach = [
  // The same key, taken before and after programs kept keys in their order.
  `INSERT INTO idempotency VALUES ('acc_a', x'${"07".repeat(32)}', x'${"01".repeat(32)}', 'chat_1', 0)`,
  `INSERT INTO idempotency VALUES ('acc_b', x'${"08".repeat(32)}', x'${"01".repeat(32)}', 'above', 0)`,
  `INSERT INTO oauth_grant VALUES ('grant_1', 'acc_a', 'key_a', 'client', 'Ünïcode 🦊', 'host', '["a"]', 5, 6, 7, 8, NULL)`,
  "INSERT INTO grant_day VALUES ('grant_1', 0, 0, 0)",
  `INSERT INTO task (call_id, id, account_id, key_id, state, upstream, upstream_task_id, expected, created_at_ms, asked_at_ms,
                     next_poll_at_ms, deadline_at_ms)
   VALUES ('tasked', 'task_1', 'acc_a', 'key_a', 'RUNNING', 'vendor', 'v1', '{"seconds":5}', 1, 2, 3, 9000000000000)`,
  `INSERT INTO quota_application VALUES ('quota_1', 'acc_a', 'key_a', 1, 2, '[]', '[]', 'line' || char(10) || 'two', x'00ff', NULL,
                                         'open', 3, NULL)`,
  `INSERT INTO link_attempt VALUES (x'0102', 'attempt_1', 'key_a', 'acc_a', 'x', '[]', x'00', x'ff', 1, NULL, NULL, NULL, 1, 2, NULL)`,
  `INSERT INTO link VALUES ('link_1', 'key_a', 'acc_a', 'x', 'u', 'name', '[]', 3, x'0a', x'0b', NULL, 4, NULL, NULL, NULL, 5, NULL,
                            NULL)`,
  "INSERT INTO publication VALUES ('contract', 'hash', 'r1', 5, x'1f8b00')",
  "INSERT INTO sign_in_record VALUES ('Session', x'03', 'grant_1', NULL, NULL, x'04', 5, NULL)",
  "INSERT INTO kept_answer VALUES (x'06ff', 'acc_a', 'vendor', 7)",
  "INSERT INTO approval VALUES ('approval_1', 'acc_a', 'key_a', NULL, 'asker', 1, 2, 'approved', 3)",
  `INSERT INTO approval_item (approval_id, position, operation_id, digest, cap_micros, summary, call_id, expected_micros, arguments,
                              arguments_cut)
   VALUES ('approval_1', 0, 'op', x'05', 6, 'summary', 'chat_1', 5, '{}', 1)`,
];

const openRaw = (path: string): Database => new Database(path, { readwrite: true, safeIntegers: true });

const tablesOf = (file: Database): string[] =>
  file
    .query<{ name: string }, []>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name",
    )
    .all()
    .map(({ name }) => name);

async function openEmpty(): Promise<string> {
  const { url, drop } = await openTestDatabase();
  cleanUps.push(drop);
  return url;
}

const move = (path: string, url: string): Promise<MoveReport> => moveThrough(path, url, (fresh) => fresh);

const moveThrough = (
  path: string,
  url: string,
  through: (fresh: NewBooks) => NewBooks,
): Promise<MoveReport> =>
  withBooks(path, url, (old, fresh) => moveBooks(old, through(fresh), () => Bun.randomUUIDv7()));

async function withBooks<Result>(
  path: string,
  url: string,
  use: (...books: Parameters<typeof undoMove>) => Promise<Result>,
  limits: { readonly idleInTransactionMs?: number } = {},
): Promise<Result> {
  const old = await openOldBooks(path, { wallMs, onBroughtForward });
  const name = "postgres://there";
  const fresh = await openNewBooks({
    url,
    name,
    fingerprint,
    wallMs,
    monotonicMs,
    patienceMs: 200,
    ...limits,
    onProgress: () => {},
    onBroughtForward,
  });
  try {
    return await use(old.books, fresh.books);
  } finally {
    await fresh.close();
    old.release();
  }
}

async function expectOpen(path: string): Promise<void> {
  const store = openSqliteStore({ path });
  expect(await store.accounts.find("acc_a")).toBeDefined();
  await store.close();
}

const failureOf = (doing: Promise<unknown>): Promise<string> =>
  doing.then(
    () => "nothing failed",
    (error: Error) => error.message,
  );

/** What Postgres has, of the columns that the given rows have, in the words of SQLite. */
async function rowsIn(url: string, table: string, like: readonly object[]): Promise<readonly string[]> {
  const sql = new SQL(url, { max: 1, bigint: true });
  try {
    const found = await sql.unsafe<Record<string, unknown>[]>(`SELECT * FROM ${table}`);
    const columns = Object.keys(like[0] ?? {});
    return inOrder(found.map((row) => Object.fromEntries(columns.map((column) => [column, row[column]]))));
  } finally {
    await sql.close();
  }
}

const inOrder = (rows: readonly object[]): readonly string[] => rows.map((row) => asWords(row)).toSorted();

const asWords = (row: object): string =>
  JSON.stringify(
    Object.entries(row).map(([column, value]: [string, unknown]) => [
      column,
      typeof value === "bigint" || typeof value === "boolean"
        ? String(Number(value))
        : value instanceof Uint8Array
          ? Buffer.from(value).toString("hex")
          : value,
    ]),
  );
