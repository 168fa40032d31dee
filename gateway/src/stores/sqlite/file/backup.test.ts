import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { createHash, randomBytes } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "../../../store/store.ts";
import { backUp } from "./backup.ts";
import { migrate, schemaVersion } from "../schema/migrate.ts";
import { closeForMove, markArrived } from "./moved-mark.ts";
import { restore as restoreUnder } from "./restore.ts";
import { openSqliteStore } from "../sqlite-store.ts";

let folder: string;
let path: string;
let backup: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-backup-"));
  path = join(folder, "data.db");
  backup = join(folder, "backup.db");
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const nowMs = Date.UTC(2026, 2, 14);

const restore = (file: string, place: string, fingerprint?: string): string | undefined =>
  restoreUnder({ backup: file, path: place, fingerprint, nowMs });

async function openWithAccount(): Promise<Store> {
  const store = openSqliteStore({ path });
  const account = { id: "acc_1", name: "Ada", tier: "free", planMultiplierPpm: 1_000_000n } as const;
  await store.accounts.create({ ...account, creditMicros: 5_000_000n, nowMs });
  return store;
}

const pay = (store: Store, transferId: string): Promise<unknown> =>
  store.accounts.topUp({ transferId, accountId: "acc_1", amountMicros: 1_000n, nowMs });

/** Every row of every table, as text. */
function contentOf(file: string): string {
  const db = new Database(file, { readonly: true, safeIntegers: true });
  const tables = db
    .query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .all();
  const rows = tables.map(({ name }) => [name, db.query(`SELECT * FROM "${name}" ORDER BY 1, 2`).values()]);
  const schema = db.query("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").values();
  const version = db.query("PRAGMA user_version").values();
  db.close();
  return JSON.stringify([rows, schema, version], (_name, value: unknown) =>
    typeof value === "bigint" ? `${value}` : value,
  );
}

/** The reason a promise was broken for; empty when it was kept. */
const whyNot = (promise: Promise<unknown>): Promise<string> => promise.then(() => "", String);

const digestOf = (file: string): string => createHash("sha256").update(readFileSync(file)).digest("hex");

async function accountIn(file: string) {
  const store = openSqliteStore({ path: file });
  try {
    expect((await store.auditor.audit()).findings).toEqual([]);
    return await store.accounts.find("acc_1");
  } finally {
    await store.close();
  }
}

describe("backup", () => {
  test("of a closed-up moment is equal to the books, row by row", async () => {
    const store = await openWithAccount();
    await pay(store, "pay_1");
    await backUp(path, backup);
    expect(contentOf(backup)).toBe(contentOf(path));
    await store.close();
  });

  test("taken while another connection writes is one moment of sound books", async () => {
    const serving = await openWithAccount();
    let paid = 0;
    let stop = false;
    const writing = (async () => {
      while (!stop) {
        await Promise.all(Array.from({ length: 10 }, () => pay(serving, `pay_${paid++}`)));
      }
    })();
    const counts: number[] = [];
    for (let n = 0; n < 5; n++) {
      await Bun.sleep(5);
      const file = join(folder, `backup-${n}.db`);
      const paidBefore = paid;
      await backUp(path, file);
      const account = await accountIn(file);
      counts.push(Number(((account?.postedMicros ?? 0n) - 5_000_000n) / 1_000n));
      // What was answered before the backup began is in it.
      expect(counts.at(-1)).toBeGreaterThanOrEqual(paidBefore - 10);
    }
    stop = true;
    await writing;
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(counts.at(-1)).toBeGreaterThan(counts[0] ?? 0);
    await serving.close();
    expect((await accountIn(path))?.postedMicros).toBe(5_000_000n + BigInt(paid) * 1_000n);
  });

  test("taken by a second process while this one writes is sound too", async () => {
    const serving = await openWithAccount();
    const script = `
      import { backUp } from ${JSON.stringify(join(import.meta.dir, "backup.ts"))};
      await backUp(${JSON.stringify(path)}, ${JSON.stringify(backup)});`;
    const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "pipe" });
    let paid = 0;
    while (child.exitCode === null && paid < 100_000) await pay(serving, `pay_${paid++}`);
    expect(await child.exited).toBe(0);
    await serving.close();
    const account = await accountIn(backup);
    expect(account?.postedMicros).toBeGreaterThanOrEqual(5_000_000n);
    expect(account?.postedMicros).toBeLessThanOrEqual(5_000_000n + BigInt(paid) * 1_000n);
  });

  test.each(["some other file", ""])("never overwrites a file, even one that holds %j", async (content) => {
    const store = await openWithAccount();
    writeFileSync(backup, content);
    expect(await whyNot(backUp(path, backup))).toContain("exists already; a backup never overwrites a file.");
    expect(readFileSync(backup, "utf8")).toBe(content);
    await store.close();
  });

  test("never overwrites the data it is taken from, nor an earlier backup", async () => {
    const store = await openWithAccount();
    expect(await whyNot(backUp(path, path))).toContain("exists already");
    await backUp(path, backup);
    const before = digestOf(backup);
    await pay(store, "pay_1");
    expect(await whyNot(backUp(path, backup))).toContain("exists already");
    expect(digestOf(backup)).toBe(before);
    await store.close();
    expect((await accountIn(path))?.postedMicros).toBe(5_001_000n);
  });

  test("into a folder that does not exist fails and leaves nothing behind", async () => {
    const store = await openWithAccount();
    const why = await whyNot(backUp(path, join(folder, "nowhere", "backup.db")));
    expect(why).toContain("unable to open");
    expect(why).toContain(`there is no folder ${join(folder, "nowhere")}`);
    expect(existsSync(join(folder, "nowhere"))).toBe(false);
    await pay(store, "pay_1");
    await store.close();
  });

  test("of a database in use by this very connection keeps its pending writes apart", async () => {
    const store = await openWithAccount();
    const pending = pay(store, "pay_1");
    await backUp(path, backup);
    await pending;
    await store.close();
    expect([5_000_000n, 5_001_000n]).toContain((await accountIn(backup))?.postedMicros ?? 0n);
  });
});

describe("restore", () => {
  test("brings back the books of the backup, and nothing of what came after", async () => {
    const store = await openWithAccount();
    await pay(store, "pay_1");
    await backUp(path, backup);
    const content = contentOf(backup);
    for (let n = 0; n < 50; n++) await pay(store, `later_${n}`);
    await store.close();

    restore(backup, path);
    expect(contentOf(path)).toBe(content);
    expect((await accountIn(path))?.postedMicros).toBe(5_001_000n);
    expect(contentOf(backup)).toBe(content);
    expect(readdirSync(folder).filter((name) => name.includes("restoring"))).toEqual([]);
  });

  test("does not replay the write-ahead log of the data it replaces", async () => {
    const store = await openWithAccount();
    await backUp(path, backup);
    await pay(store, "later");
    // Left open on purpose, as after a crash: the payment is only in the log.
    expect(existsSync(`${path}-wal`)).toBe(true);
    restore(backup, path);
    expect(existsSync(`${path}-wal`)).toBe(false);
    expect((await accountIn(path))?.postedMicros).toBe(5_000_000n);
    await store.close();
    expect((await accountIn(path))?.postedMicros).toBe(5_000_000n);
  });

  test("keeps the data it replaces, complete, under a name that says so, each time", async () => {
    const store = await openWithAccount();
    await backUp(path, backup);
    await pay(store, "later");
    await store.close();
    const kept = restore(backup, path);
    expect(kept).toBe(`${path}.before-restore-20260314T000000Z`);
    expect((await accountIn(kept ?? ""))?.postedMicros).toBe(5_001_000n);
    const again = restore(backup, path);
    expect(again).toBe(`${kept}-2`);
    expect((await accountIn(kept ?? ""))?.postedMicros).toBe(5_001_000n);
    expect((await accountIn(again ?? ""))?.postedMicros).toBe(5_000_000n);
    expect(restore(backup, join(folder, "fresh.db"))).toBeUndefined();
  });

  test("refuses what was written under another secret, and leaves the data alone", async () => {
    const store = await openWithAccount();
    await store.claimSecret("theirs");
    await backUp(path, backup);
    await store.close();
    const before = contentOf(path);
    expect(() => restore(backup, path, "ours")).toThrow("was written under another secret");
    expect(contentOf(path)).toBe(before);
    expect(readdirSync(folder).filter((name) => /restor/.test(name))).toEqual([]);
    expect(restore(backup, path, "theirs")).toBeDefined();
    // Where no secret was made yet, whichever comes next may be the right one.
    expect(restore(backup, join(folder, "fresh.db"))).toBeUndefined();
  });

  test("works where there is no data yet", async () => {
    const store = await openWithAccount();
    await backUp(path, backup);
    await store.close();
    const fresh = join(folder, "fresh.db");
    restore(backup, fresh);
    expect((await accountIn(fresh))?.postedMicros).toBe(5_000_000n);
  });

  test("of a copy of the file and its write-ahead log brings back what is only in the log", async () => {
    const store = await openWithAccount();
    await pay(store, "pay_1");
    for (const suffix of ["", "-wal"]) copyFileSync(path + suffix, backup + suffix);
    const fresh = join(folder, "fresh.db");
    restore(backup, fresh);
    expect((await accountIn(fresh))?.postedMicros).toBe(5_001_000n);
    await store.close();
  });

  test("takes nothing from a restore that was cut short", async () => {
    const store = await openWithAccount();
    await backUp(path, backup);
    await store.close();
    writeFileSync(`${path}.restoring`, "half of a file");
    restore(backup, path);
    expect((await accountIn(path))?.postedMicros).toBe(5_000_000n);
  });

  test.each([
    ["were moved", true],
    ["are being moved", false],
  ])(
    "refuses to put a second set of books beside those that %s, unless told to",
    async (told, hasArrived) => {
      const store = await openWithAccount();
      await backUp(path, backup);
      await store.close();
      const db = new Database(path, { readwrite: true });
      closeForMove(db, { id: "move_1", to: "postgres://there", place: "there" });
      if (hasArrived) markArrived(db);
      db.close();
      const before = contentOf(path);
      expect(() => restore(backup, path)).toThrow(`${told} to postgres://there, and nothing was changed`);
      expect(contentOf(path)).toBe(before);

      const kept = restoreUnder({ backup, path, fingerprint: undefined, nowMs, overMoved: true });
      expect((await accountIn(path))?.postedMicros).toBe(5_000_000n);
      expect(contentOf(kept ?? "")).toBe(before);
    },
  );

  test.each([
    ["its own name", (): string => path],
    ["a link to it", (): string => (symlinkSync(path, backup), backup)],
    ["another name of it", (): string => (linkSync(path, backup), backup)],
  ])("refuses the data itself, by %s, and leaves it alone", async (_, nameOf) => {
    const store = await openWithAccount();
    await pay(store, "only in the log");
    expect(() => restore(nameOf(), path)).toThrow("is the data itself");
    expect((await store.accounts.find("acc_1"))?.postedMicros).toBe(5_001_000n);
    await store.close();
    expect((await accountIn(path))?.postedMicros).toBe(5_001_000n);
  });

  test("a restored store can be served from: a run begins and payments are booked", async () => {
    const store = await openWithAccount();
    await backUp(path, backup);
    await store.close();
    restore(backup, path);
    const again = openSqliteStore({ path });
    expect(await again.ledger.beginRun(nowMs)).toEqual({
      releasedCalls: 0,
      releasedMicros: 0n,
      settledCalls: 0,
      charges: [],
      lostTasks: 0,
    });
    await pay(again, "pay_1");
    expect((await again.accounts.find("acc_1"))?.postedMicros).toBe(5_001_000n);
    await again.close();
  });

  const sqliteFile = (prepare: (db: Database) => void) => (): void => {
    const db = new Database(backup, { create: true });
    prepare(db);
    db.close();
  };

  const bad: readonly { name: string; make: () => void; why: RegExp }[] = [
    { name: "a file that is not there", make: () => {}, why: /There is no file/ },
    {
      name: "garbage",
      make: () => writeFileSync(backup, randomBytes(50_000)),
      why: /is not a backup of Tollgate/,
    },
    { name: "a text", make: () => writeFileSync(backup, "SQLite format 4, honestly"), why: /./ },
    { name: "an empty file", make: () => writeFileSync(backup, ""), why: /is empty\. If it was copied/ },
    {
      name: "a server's file without the log that it writes first",
      make: sqliteFile((db) => void db.run("PRAGMA journal_mode = WAL")),
      why: /is empty\. If it was copied while a server ran, .* -wal; tollgate backup writes all of it\./,
    },
    {
      name: "a folder",
      make: () => mkdirSync(backup),
      why: /backup\S* is a folder; name one of the backups/,
    },
    {
      name: "what nobody can open, a socket",
      make: () => Bun.listen({ unix: backup, socket: { data: () => {} } }).unref(),
      why: /backup\S* cannot be opened: unable to open database file/,
    },
    {
      name: "a backup of a newer program",
      make: () => {
        copyFileSync(path, backup);
        sqliteFile((db) => void db.run(`PRAGMA user_version = ${schemaVersion + 1}`))();
      },
      why: new RegExp(
        `written by a newer Tollgate \\(schema ${schemaVersion + 1}; this program knows 1 to ${schemaVersion}\\)\\. ` +
          "Restore it with that version",
      ),
    },
    {
      name: "a database of another program",
      make: sqliteFile((db) => void db.run("CREATE TABLE songs (title TEXT)")),
      why: /is not a backup of Tollgate/,
    },
    {
      name: "a database of another program that counts versions too",
      make: sqliteFile((db) => {
        db.run("CREATE TABLE songs (title TEXT)");
        db.run(`PRAGMA user_version = ${schemaVersion}`);
      }),
      why: /is not a backup of Tollgate/,
    },
  ];

  test.each(bad)("refuses $name and leaves the data alone", async ({ make, why }) => {
    const store = await openWithAccount();
    await store.close();
    make();
    const before = contentOf(path);
    expect(() => restore(backup, path)).toThrow(why);
    expect(contentOf(path)).toBe(before);
    expect(readdirSync(folder).filter((name) => name.includes("restoring"))).toEqual([]);
  });

  describe("of a damaged backup", () => {
    beforeEach(async () => {
      const store = await openWithAccount();
      await Promise.all(Array.from({ length: 500 }, (_, n) => pay(store, `pay_${n}`)));
      await backUp(path, backup);
      await store.close();
    });

    const damages: readonly { name: string; damage: (bytes: Buffer) => void }[] = [
      {
        name: "its second half gone",
        damage: (bytes) => truncateSync(backup, Math.floor(bytes.length / 8_192) * 4_096),
      },
      { name: "its last bytes gone", damage: (bytes) => truncateSync(backup, bytes.length - 100) },
      {
        name: "a page overwritten",
        damage: (bytes) => {
          randomBytes(4_096).copy(bytes, bytes.length - 8_192);
          writeFileSync(backup, bytes);
        },
      },
      {
        name: "every other page zeroed",
        damage: (bytes) => {
          for (let at = 4_096; at < bytes.length; at += 8_192) bytes.fill(0, at, at + 4_096);
          writeFileSync(backup, bytes);
        },
      },
    ];

    test.each(damages)("refuses it with $name", async ({ damage }) => {
      damage(readFileSync(backup));
      const before = contentOf(path);
      expect(() => restore(backup, path)).toThrow(`${backup} is damaged: `);
      expect(contentOf(path)).toBe(before);
      expect((await accountIn(path))?.postedMicros).toBe(5_500_000n);
    });
  });
});

test("a backup is of the version that wrote the data, and leaves the data at it", async () => {
  const earlier = new Database(path, { create: true, strict: true });
  migrate(earlier, schemaVersion - 1);
  earlier.close();
  const before = contentOf(path);
  await backUp(path, backup);
  expect([contentOf(path), contentOf(backup)]).toEqual([before, before]);
  expect(await whyNot(backUp(join(folder, "none.db"), join(folder, "other.db")))).toContain(
    "no data to back up",
  );
});
