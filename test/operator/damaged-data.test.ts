// What is said of a file that the disk damaged: which one it is, and what to do.

import { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runTollgate, type Ran } from "../support/run-tollgate.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-damaged-"));
  file = join(folder, "data/tollgate.db");
  await tollgate("account", "create", "--name", "Ada");
  overwriteAccounts();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const tollgate = (...words: string[]): Promise<Ran> =>
  runTollgate(words, { folder, environment: { PORT: "0" } });

/** The page on which the accounts begin: the file can still be opened, and says whose secret it was written under. */
function overwriteAccounts(): void {
  const db = new Database(file);
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  const { rootpage } = db
    .query<{ rootpage: number }, []>("SELECT rootpage FROM sqlite_schema WHERE name = 'account'")
    .get() ?? { rootpage: 0 };
  const { page_size: pageBytes } = db.query<{ page_size: number }, []>("PRAGMA page_size").get() ?? {
    page_size: 0,
  };
  db.close();
  const handle = openSync(file, "r+");
  writeSync(handle, Buffer.alloc(pageBytes, 0xa7), 0, pageBytes, (rootpage - 1) * pageBytes);
  closeSync(handle);
}

test("the doctor finds data that is damaged", async () => {
  const ran = await tollgate("doctor");
  expect(ran.code).toBe(1);
  expect(ran.out).toMatch(new RegExp(`Store: ${file} is damaged: .+ Restore a backup\\.$`, "m"));
});

test.each([["account list"], ["audit"], ["backup copy.db"], ["serve"]])(
  "%s names the damaged file and says what to do",
  async (typed) => {
    const ran = await tollgate(...typed.split(" "));
    expect(ran.code).not.toBe(0);
    expect(ran.errors).toContain(`${file} is damaged: database disk image is malformed. Restore a backup.`);
  },
);
