import { afterEach, beforeEach, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { namingFile } from "./database.ts";
import { migrate, schemaVersion } from "../schema/migrate.ts";
import { takeServerLock } from "./server-lock.ts";
import { sqlitePlace } from "../sqlite-place.ts";
import { openSqliteStore } from "../sqlite-store.ts";

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "tollgate-database-"))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A database whose format SQLite may only read: read-only also for who may write all files. */
function makeSealed(file: string, prepare: (db: Database) => void): void {
  const db = new Database(file, { create: true, strict: true });
  prepare(db);
  db.close();
  const bytes = readFileSync(file);
  const writeVersionAt = 18;
  bytes[writeVersionAt] = 3;
  writeFileSync(file, bytes);
}

test("data that cannot be written is named, with what to look at", () => {
  const path = join(folder, "tollgate.db");
  makeSealed(path, (db) => migrate(db, schemaVersion - 1));
  expect(() => openSqliteStore({ path })).toThrow(
    `${path} cannot be written: attempt to write a readonly database. Is its folder read-only, or somebody else's?`,
  );
});

test("data on a disk that is full is named", () => {
  const path = join(folder, "tollgate.db");
  const db = new Database(path, { create: true });
  db.run("PRAGMA max_page_count = 1");
  expect(() => namingFile(path, () => db.run("CREATE TABLE too_much (a)"))).toThrow(
    `${path} cannot be written: database or disk is full. Make room on its disk.`,
  );
  db.close();
});

test("data that cannot be opened, or is none of ours, is named, too", () => {
  const inTheWay = join(folder, "a-folder.db");
  mkdirSync(inTheWay);
  expect(() => openSqliteStore({ path: inTheWay })).toThrow(
    `${inTheWay} cannot be opened: unable to open database file.`,
  );
  const notes = join(folder, "notes.db");
  writeFileSync(notes, "something else that somebody put here".repeat(100));
  expect(() => openSqliteStore({ path: notes })).toThrow(`${notes} cannot be used: file is not a database.`);
});

test("data in a folder that this user may not look into is not said to be missing", async () => {
  const closed = join(folder, "data");
  const path = join(closed, "tollgate.db");
  mkdirSync(closed);
  const { hasData } = sqlitePlace(path, Date.now);
  expect(await hasData()).toBe(false);
  writeFileSync(path, "");
  expect(await hasData()).toBe(true);
  const why = await asSomebodyElse(closed, () => hasData().catch((error: unknown) => String(error)));
  expect(why).toBe(`Error: ${path} cannot be read by this user. Run this as the user who owns the data.`);
});

/** Closes the folder, and does it as one whom that concerns: the system lets its administrator in everywhere. */
async function asSomebodyElse<Result>(closed: string, act: () => Promise<Result>): Promise<Result> {
  const isAdministrator = process.geteuid?.() === 0;
  chmodSync(closed, 0o000);
  if (isAdministrator) process.seteuid?.(nobody);
  try {
    return await act();
  } finally {
    if (isAdministrator) process.seteuid?.(0);
    chmodSync(closed, 0o700);
  }
}

const nobody = 65_534;

test("a file has one server, by whatever name it is served, also before there is any", async () => {
  const path = join(folder, "tollgate.db");
  const link = join(folder, "by-another-name.db");
  const linkToLink = join(folder, "elsewhere", "tollgate.db");
  mkdirSync(join(folder, "elsewhere"));
  symlinkSync("tollgate.db", link);
  symlinkSync(link, linkToLink);
  const quiet = () => {};
  const events = {
    onBroughtForward: quiet,
    onCommit: quiet,
    onBrokenDisk: quiet,
    onLostNote: quiet,
    onRecovered: quiet,
    onNodesSeen: quiet,
  };
  const serve = (name: string) => sqlitePlace(name, Date.now).openForServing(events);
  const names = [path, link, linkToLink];
  for (const first of names) {
    if (first !== path) rmSync(path);
    const { store, leave } = await serve(first);
    for (const name of names) {
      const why = await serve(name).then(
        () => "nothing",
        (error: unknown) => String(error),
      );
      expect(why, `${name}, while ${first} is served`).toContain("one file has one server");
    }
    await store.close();
    leave();
  }
});

test("what is restored by a link takes the place of the file it leads to, and the link stays one", async () => {
  const path = join(folder, "tollgate.db");
  const link = join(folder, "by-another-name.db");
  const backup = join(folder, "backup.db");
  await openSqliteStore({ path }).close();
  symlinkSync(path, link);
  const place = sqlitePlace(link, Date.now);
  await place.backUp(backup);
  const before = statSync(path).ino;
  const kept = await place.restore(backup, { fingerprint: undefined, overMoved: false });
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(statSync(path).ino).not.toBe(before);
  expect(statSync(kept ?? "").ino).toBe(before);
});

test("a lock that is none is not taken for one that somebody holds", () => {
  const path = join(folder, "tollgate.db.lock");
  const lock = takeServerLock(path);
  expect(takeServerLock(path)).toBeUndefined();
  lock?.release();
  writeFileSync(path, "something else that somebody put here".repeat(100));
  expect(() => takeServerLock(path)).toThrow(`${path} cannot be opened: file is not a database.`);
});
