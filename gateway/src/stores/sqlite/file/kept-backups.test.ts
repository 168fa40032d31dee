import { Database } from "bun:sqlite";
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { restore } from "./restore.ts";
import { backUpInto } from "./kept-backups.ts";
import { openSqliteStore } from "../sqlite-store.ts";

let folder: string;
let path: string;
let safe: string;

const startMs = Date.UTC(2026, 2, 14, 3, 0, 0);
const dayMs = 86_400_000;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-kept-"));
  path = join(folder, "data.db");
  safe = join(folder, "safe");
  mkdirSync(safe);
  const store = openSqliteStore({ path });
  const account = { id: "acc_1", name: "Ada", tier: "free", planMultiplierPpm: 1_000_000n } as const;
  await store.accounts.create({ ...account, creditMicros: 5_000_000n, nowMs: startMs });
  await store.close();
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const backUpOn = (day: number, keep: number) =>
  backUpInto({ path, folder: safe, keep, nowMs: startMs + day * dayMs });

const nameOn = (day: number): string => `tollgate-202603${14 + day}T030000Z.db`;

const held = (): string[] => readdirSync(safe).toSorted();

test("the newest backups are kept, each can be restored, and only its owner can read it", async () => {
  const made = [];
  for (const day of [0, 1, 2, 3, 4]) made.push(await backUpOn(day, 3));
  expect(held()).toEqual([nameOn(2), nameOn(3), nameOn(4)]);
  expect(made[4]).toEqual({ file: join(safe, nameOn(4)), deleted: [join(safe, nameOn(1))] });
  for (const name of held()) {
    expect(statSync(join(safe, name)).mode & 0o077).toBe(0);
    restore({ backup: join(safe, name), path: join(folder, name), fingerprint: undefined, nowMs: startMs });
  }
  // Fewer are wanted from now on.
  expect((await backUpOn(5, 1)).deleted).toHaveLength(3);
  expect(held()).toEqual([nameOn(5)]);
});

test("a backup that bears an early date, because a clock was set back, is kept all the same", async () => {
  for (const day of [5, 6, 0]) await backUpOn(day, 2);
  expect(held()).toEqual([nameOn(0), nameOn(6)]);
});

test("whatever else is in the folder stays, but for what a killed backup left behind long ago", async () => {
  const others = [
    "tollgate.db",
    "tollgate-latest.db",
    "tollgate-20260101T000000Z.db.gz",
    "notes.txt.1.partial",
  ];
  const old = [`${nameOn(0)}.77.partial`, `${nameOn(0)}.77.partial-journal`];
  const young = `${nameOn(1)}.78.partial`;
  for (const name of [...others, ...old, young]) writeFileSync(join(safe, name), "");
  for (const name of old) utimesSync(join(safe, name), startMs / 1000, startMs / 1000);
  utimesSync(join(safe, young), (startMs + dayMs) / 1000, (startMs + dayMs) / 1000);
  await backUpOn(1, 1);
  await backUpOn(2, 1);
  expect(held()).toEqual([...others, young, nameOn(2)].toSorted());
});

test("a second one of the same moment is refused, and nothing is deleted for it", async () => {
  await backUpOn(0, 5);
  await backUpOn(1, 5);
  expect(await backUpOn(1, 1).catch(String)).toContain("exists already");
  expect(held()).toEqual([nameOn(0), nameOn(1)]);
});

test("a folder that is none is refused", async () => {
  const nowhere = { path, folder: join(folder, "nowhere"), keep: 1, nowMs: startMs };
  expect(await backUpInto(nowhere).catch(String)).toContain(`There is no folder ${join(folder, "nowhere")}`);
  expect(await backUpInto({ ...nowhere, folder: path }).catch(String)).toContain("There is no folder");
});

const script = (): string => `
  import { backUpInto } from ${JSON.stringify(join(import.meta.dir, "kept-backups.ts"))};
  await backUpInto(${JSON.stringify({ path, folder: safe, keep: 1, nowMs: startMs + dayMs })});`;

test("one for which there is no room leaves nothing behind, and the older ones alone", async () => {
  await backUpOn(0, 1);
  const kilobytes = statSync(join(safe, nameOn(0))).size / 1024;
  const backUpWithin = (most: number): Promise<number> => {
    const limit = `trap '' XFSZ; ulimit -f ${most}; exec "$@"`;
    const words = ["bash", "-c", limit, "bash", process.execPath, "-e", script()];
    return Bun.spawn(words, { stdout: "ignore", stderr: "ignore" }).exited;
  };
  expect(await backUpWithin(kilobytes / 2)).not.toBe(0);
  expect(held()).toEqual([nameOn(0)]);
  expect(await backUpWithin(kilobytes * 2)).toBe(0);
  expect(held()).toEqual([nameOn(1)]);
});

test("one whose process is killed leaves no file under its name, and the older ones alone", async () => {
  await backUpOn(0, 1);
  const db = new Database(path);
  // Large enough to be seen on its way.
  db.run("CREATE TABLE ballast AS SELECT zeroblob(100 * 1024 * 1024) AS weight");
  db.close();
  const child = Bun.spawn([process.execPath, "-e", script()], { stdout: "ignore", stderr: "ignore" });
  while (held().length === 1 && child.exitCode === null) await Bun.sleep(1);
  child.kill("SIGKILL");
  expect(await child.exited).toBe(137);
  const [older, ...left] = held();
  expect([older, left[0]]).toEqual([nameOn(0), `${nameOn(1)}.${child.pid}.partial`]);
  expect(left.filter((name) => !/\.partial(-journal)?$/.test(name))).toEqual([]);
});
