import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backUp } from "./backup.ts";
import { restore } from "./restore.ts";
import { takeServerLock } from "./server-lock.ts";
import { sqlitePlace } from "../sqlite-place.ts";
import { openSqliteStore } from "../sqlite-store.ts";

let folder: string;
let data: string;
let path: string;
let usualMask: number;

beforeEach(() => {
  usualMask = process.umask(0o022);
  folder = mkdtempSync(join(tmpdir(), "tollgate-private-"));
  data = join(folder, "data");
  path = join(data, "tollgate.db");
});

afterEach(() => {
  expect(process.umask(usualMask)).toBe(0o022);
  rmSync(folder, { recursive: true, force: true });
});

const modeOf = (file: string): string => (statSync(file).mode & 0o7777).toString(8);

const modesIn = (where: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(where)
      .toSorted()
      .map((name) => [name, modeOf(join(where, name))]),
  );

const account = { id: "acc_1", name: "A", tier: "free", planMultiplierPpm: 1n, creditMicros: 5n } as const;

describe("what other users of the machine can read", () => {
  test("is nothing that a server or a backup makes", async () => {
    const store = openSqliteStore({ path, ballastPath: `${path}.ballast` });
    await store.accounts.create({ ...account, nowMs: 1 });
    const lock = takeServerLock(`${path}.lock`);
    const backup = join(data, "backup.db");
    await backUp(path, backup);
    expect(modeOf(data)).toBe("700");
    expect(modesIn(data)).toEqual({
      "backup.db": "600",
      "tollgate.db": "600",
      "tollgate.db-shm": "600",
      "tollgate.db-wal": "600",
      "tollgate.db.ballast": "600",
      "tollgate.db.lock": "600",
      "tollgate.db.lock-journal": "600",
    });
    await store.close();
    chmodSync(backup, 0o644);
    const kept = restore({ backup, path, fingerprint: undefined, nowMs: 1 });
    expect([path, kept ?? "nothing kept"].map(modeOf)).toEqual(["600", "600"]);
    lock?.release();
  });

  test("is nothing of a folder that an earlier program made, once it was opened", async () => {
    const earlier = openSqliteStore({ path });
    await earlier.accounts.create({ ...account, nowMs: 1 });
    for (const suffix of ["", "-wal", "-shm"]) chmodSync(path + suffix, 0o644);
    chmodSync(data, 0o755);
    const store = openSqliteStore({ path });
    expect((await store.accounts.find("acc_1"))?.postedMicros).toBe(5n);
    expect(modeOf(data)).toBe("700");
    expect(modesIn(data)).toEqual({
      "tollgate.db": "600",
      "tollgate.db-shm": "600",
      "tollgate.db-wal": "600",
    });
    await store.close();
    await earlier.close();
  });

  test.each([
    ["holds folders of others", 0o755, "of others"],
    ["everybody may write to", 0o1777, undefined],
  ])("is left to a folder that %s; its files are private all the same", async (_, mode, inside) => {
    mkdirSync(join(data, inside ?? ""), { recursive: true });
    chmodSync(data, mode);
    const store = openSqliteStore({ path });
    expect(modeOf(data)).toBe(mode.toString(8));
    expect(modeOf(path)).toBe("600");
    await store.close();
  });
});

test.skipIf(process.platform !== "linux" || process.getuid?.() !== 0 || Bun.which("setpriv") === null)(
  "a store whose files belong to somebody else is opened although their rights cannot be changed (needs root)",
  async () => {
    const store = openSqliteStore({ path });
    await store.accounts.create({ ...account, nowMs: 1 });
    await store.close();
    chmodSync(data, 0o777);
    chmodSync(path, 0o666);
    for (const owned of [data, path]) chownSync(owned, 65_534, 65_534);
    const program = `import { openSqliteStore } from ${JSON.stringify(join(import.meta.dir, "../sqlite-store.ts"))};
      const store = openSqliteStore({ path: process.argv[1] });
      console.log(String((await store.accounts.find("acc_1")).postedMicros));
      await store.close();`;
    // Without this right not even root changes what belongs to others.
    const bound = ["setpriv", "--bounding-set=-fowner"];
    const child = Bun.spawn([...bound, process.execPath, "-e", program, path], { stderr: "inherit" });
    expect(await new Response(child.stdout).text()).toBe("5\n");
    expect([modeOf(data), modeOf(path)]).toEqual(["777", "666"]);
  },
);

test.skipIf(process.platform !== "linux" || process.getuid?.() !== 0)(
  "what root restores stays the service's: the owner of the data it replaces, else of the folder (needs root)",
  async () => {
    const store = openSqliteStore({ path });
    await store.close();
    const backup = join(folder, "backup.db");
    await backUp(path, backup);
    const place = sqlitePlace(path, () => 1);
    const ownerOf = (file: string): number[] => [statSync(file).uid, statSync(file).gid];
    const asRoot = (): Promise<unknown> =>
      place.restore(backup, { fingerprint: undefined, overMoved: false });

    chownSync(path, 65_534, 65_533);
    await asRoot();
    expect(ownerOf(path)).toEqual([65_534, 65_533]);

    for (const name of readdirSync(data)) rmSync(join(data, name));
    chownSync(data, 65_532, 65_531);
    await asRoot();
    for (const file of [path, `${path}.lock`]) expect(ownerOf(file)).toEqual([65_532, 65_531]);
  },
);

test.skipIf(process.platform !== "linux" || process.getuid?.() !== 0)(
  "what root makes first in the service's folder is the service's, to the last file, and folders for it too (needs root)",
  async () => {
    chownSync(folder, 65_532, 65_531);
    const deep = join(data, "books");
    const inside = join(deep, "tollgate.db");
    const lock = takeServerLock(`${inside}.lock`);
    const store = openSqliteStore({ path: inside, ballastPath: `${inside}.ballast` });
    await store.accounts.create({ ...account, nowMs: 1 });
    const owners = readdirSync(data, { recursive: true, encoding: "utf8" }).map((name) => {
      const { uid, gid } = statSync(join(data, name));
      return `${name} ${uid} ${gid}`;
    });
    expect(owners.toSorted()).toEqual(
      [
        "",
        ...["", "-shm", "-wal", ".ballast", ".lock", ".lock-journal"].map((end) => `/tollgate.db${end}`),
      ].map((name) => `books${name} 65532 65531`),
    );
    expect([statSync(data).uid, modeOf(data), modeOf(deep)]).toEqual([65_532, "700", "700"]);
    await store.close();
    lock?.release();
  },
);
