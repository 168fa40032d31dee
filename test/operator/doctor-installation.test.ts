// `tollgate doctor` about what serving needs besides the configuration: the data, its secret, the place of limits.

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { schemaVersion } from "../../gateway/src/stores/sqlite/schema/migrate.ts";
import { projectFolder } from "../support/project-folder.ts";
import { runProgram, runTollgate, type Ran } from "../support/run-tollgate.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-doctor-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const tollgate = (words: readonly string[], environment: Record<string, string> = {}): Promise<Ran> =>
  runTollgate(words, { folder, environment });

const lastLine = ({ out }: Ran): string | undefined => out.trimEnd().split("\n").at(-1);

const wrong = "Something configured cannot be used.";
const well = "Everything configured can be used.";

describe("the doctor", () => {
  test("says where data will be made, and makes neither data nor a secret", async () => {
    const ran = await tollgate(["doctor"]);
    expect([ran.code, ran.errors, lastLine(ran)]).toEqual([0, "", well]);
    expect(ran.out).toContain(`Store: there is no data at ${join(folder, "data/tollgate.db")} yet`);
    expect(ran.out).toContain("Limits: counted in the memory of the server.");
    expect(readdirSync(folder)).toEqual([]);
  });

  test("finds the schema of the data and whether the secret is the one it was written under", async () => {
    await tollgate(["account", "create", "--name", "Ada"]);
    const fitting = await tollgate(["doctor"]);
    expect([fitting.code, lastLine(fitting)]).toEqual([0, well]);
    expect(fitting.out).toContain(
      `tollgate.db has schema ${schemaVersion}, and the secret is the one it was written under.`,
    );

    const another = await tollgate(["doctor"], { TOLLGATE_SECRET: "quite another secret" });
    expect([another.code, lastLine(another)]).toEqual([1, wrong]);
    expect(another.out).toMatch(/Store: The data at .+ was written under another secret\./);
    expect(another.out).not.toContain("quite another secret");

    rmSync(join(folder, "data/secret"));
    const lacking = await tollgate(["doctor"]);
    expect([lacking.code, lastLine(lacking)]).toEqual([1, wrong]);
    expect(lacking.out).toMatch(/Store: The data at .+ belongs to a secret that is not here\./);
    expect(existsSync(join(folder, "data/secret"))).toBe(false);
  });

  test("says of a file that is no data of ours that it cannot be used, and leaves it as it is", async () => {
    const file = join(folder, "notes.db");
    writeFileSync(file, "no database at all, but long enough to be taken for one".repeat(20));
    const before = readFileSync(file, "utf8");
    const ran = await tollgate(["doctor"], { TOLLGATE_STORE: `sqlite:${file}` });
    expect([ran.code, lastLine(ran)]).toEqual([1, wrong]);
    expect(ran.out).toContain("file is not a database");
    expect(readFileSync(file, "utf8")).toBe(before);
  });

  // Root may write everywhere, so somebody else looks.
  describe.skipIf(process.getuid?.() !== 0 || Bun.which("setpriv") === null)("as another user", () => {
    // The folder of a run of tests is closed to others.
    beforeEach(() => {
      rmSync(folder, { recursive: true });
      folder = mkdtempSync("/tmp/tollgate-doctor-");
    });

    const nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    const program = [process.execPath, join(projectFolder, "gateway/src/main.ts")];
    const asNobody = (word: string, environment: Record<string, string> = {}): Promise<Ran> =>
      runProgram([...nobody, ...program, word], { folder, environment: { PORT: "0", ...environment } });
    const expectNamed = async (file: string, sentence: string): Promise<void> => {
      const ran = await asNobody("doctor");
      expect([ran.code, lastLine(ran)]).toEqual([1, wrong]);
      expect(ran.out).toContain(`Store: ${file} ${sentence}`);
      const started = await asNobody("serve", { TOLLGATE_SECRET: "a secret for tests only" });
      expect(started.code).toBe(1);
      expect(started.errors).toContain(`${file} ${sentence}`);
    };

    test("names the folder that a server could not write to, or not make", async () => {
      chmodSync(folder, 0o755);
      await expectNamed(folder, "cannot be written by this user, and the data is kept in it.");
      mkdirSync(join(folder, "data"), { mode: 0o755 });
      await expectNamed(join(folder, "data"), "cannot be written by this user, and the data is kept in it.");
    });

    test.each(["tollgate.db", "tollgate.db.lock"])(
      "names %s where a server could not write it",
      async (name) => {
        const data = join(folder, "data");
        await tollgate(["account", "create", "--name", "Ada"]);
        writeFileSync(join(data, "tollgate.db.lock"), "");
        chmodSync(folder, 0o777);
        for (const place of [data, ...readdirSync(data).map((file) => join(data, file))])
          chownSync(place, 65_534, 65_534);
        chownSync(join(data, name), 0, 0);
        chmodSync(join(data, name), 0o444);
        await expectNamed(join(data, name), "cannot be written by this user.");
      },
    );
  });

  // A newcomer without root sees this skipped by name; CI has root and fails without it.
  const canMount = process.platform === "linux" && process.getuid?.() === 0;
  describe.skipIf(!canMount && process.env["CI"] === undefined)(
    "on a small disk (a tmpfs, needs root)",
    () => {
      const data = (): string => join(folder, "data");
      beforeEach(() => {
        mkdirSync(data());
        execFileSync("mount", ["-t", "tmpfs", "-o", "size=20m", "tmpfs", data()]);
      });
      afterEach(() => execFileSync("umount", ["-l", data()]));

      test("says that it is too full for a server to take calls, before there is data and after", async () => {
        const filler = join(data(), "filler");
        const fill = (): void => writeFileSync(filler, Buffer.alloc(10.5 * 1024 * 1024));
        const expectTooFull = async (): Promise<void> => {
          const ran = await tollgate(["doctor"]);
          expect([ran.code, lastLine(ran)]).toEqual([1, wrong]);
          expect(ran.out).toMatch(
            /^Store: The disk of .+data has 9 MiB free\. A server takes no calls there until it has 16\.$/m,
          );
        };
        fill();
        await expectTooFull();
        rmSync(filler);
        await tollgate(["account", "create", "--name", "Ada"]);
        const roomy = await tollgate(["doctor"]);
        expect([roomy.code, lastLine(roomy)]).toEqual([0, well]);
        fill();
        await expectTooFull();
        // What a server puts there while it has room is room for its calls.
        writeFileSync(join(data(), "tollgate.db.ballast"), Buffer.alloc(8 * 1024 * 1024));
        expect((await tollgate(["doctor"])).code).toBe(0);
      });

      test("is told by every command when it has no room at all, with what to do", async () => {
        await tollgate(["account", "create", "--name", "Ada"]);
        await tollgate(["backup", join(folder, "backup.db")]);
        execFileSync("sh", [
          "-c",
          'head -c 30M /dev/zero > "$0" 2>/dev/null || true',
          join(data(), "filler"),
        ]);
        const told = `${join(data(), "tollgate.db")} cannot be used: its disk is full. Make room on its disk.`;
        expect((await tollgate(["doctor"])).out).toContain(`Store: ${told}\n`);
        for (const command of [["audit"], ["account", "list"], ["backup", join(folder, "another.db")]])
          expect((await tollgate(command)).errors).toBe(`${told}\n`);
        const lock = `${join(data(), "tollgate.db.lock")} cannot be opened: `;
        const ran = await tollgate(["restore", join(folder, "backup.db")]);
        expect(ran.errors).toBe(`${lock}database or disk is full. Make room on its disk.\n`);
      });
    },
  );

  test("says that nobody is at the address of a sandbox that runs elsewhere", async () => {
    writeFileSync(join(folder, "tollgate.yaml"), "sandbox: http://127.0.0.1:1/of-all-nodes\n");
    const ran = await tollgate(["doctor"]);
    expect([ran.code, lastLine(ran)]).toEqual([1, wrong]);
    expect(ran.out).toMatch(/sandbox +all +http:\/\/127\.0\.0\.1:1 +\d+ +no connection can be made/);
  });

  test("names the configuration that it looked at", async () => {
    expect((await tollgate(["doctor"])).out).toContain(
      `Configuration: there is no ${join(folder, "tollgate.yaml")}; the built-in one is in force.`,
    );
    expect(JSON.parse((await tollgate(["doctor", "--json"])).out)).toMatchObject({
      config: { valid: true, file: null },
    });
    const file = join(folder, "mine.yaml");
    writeFileSync(file, "");
    const named = { TOLLGATE_CONFIG: "mine.yaml" };
    expect((await tollgate(["doctor"], named)).out).toContain(`Configuration: ${file}\n`);
    expect(JSON.parse((await tollgate(["doctor", "--json"], named)).out)).toMatchObject({
      config: { valid: true, file },
    });
  });

  test("fails where a server would refuse to start, in its words", async () => {
    const known = { TOLLGATE_BASE_URL: "https://api.example.com" };
    const refused = await tollgate(["doctor"], known);
    expect([refused.code, lastLine(refused)]).toEqual([1, wrong]);
    expect(refused.out).toContain(
      "Start: Being known as https://api.example.com with the sandbox on would sell made-up data to strangers.",
    );
    expect((await tollgate(["doctor", "--allow-sandbox-public"], known)).code).toBe(0);
    const json = await tollgate(["doctor", "--json"], known);
    expect(JSON.parse(json.out)).toMatchObject({
      usable: false,
      installation: { start: { usable: false }, store: { usable: true }, limits: { usable: true } },
    });
  });

  test("says which servers it cannot reach, and no password", async () => {
    const ran = await tollgate(["doctor"], {
      TOLLGATE_STORE: "postgres://me:the-store-password@127.0.0.1:1/books",
      TOLLGATE_LIMITS: "redis://:the-limits-password@127.0.0.1:1/0",
      TOLLGATE_SECRET: "the secret of all nodes",
    });
    expect([ran.code, lastLine(ran)]).toEqual([1, wrong]);
    expect(ran.out).toContain("Start: With Postgres every node needs the same TOLLGATE_BASE_URL");
    expect(ran.out).toContain("Store: postgres://127.0.0.1:1/books cannot be used: ");
    expect(ran.out).toContain("Limits: the Redis at 127.0.0.1:1 cannot be used: ");
    expect(ran.out + ran.errors).not.toMatch(/the-store-password|the-limits-password/);
  });

  test("says that nodes on one Postgres multiply limits which each counts by itself", async () => {
    const ran = await tollgate(["doctor"], {
      TOLLGATE_STORE: "postgres://127.0.0.1:1/books",
      TOLLGATE_SECRET: "the secret of all nodes",
    });
    expect(ran.out).toContain("Limits: counted in the memory of each server: several nodes together let");
    expect(ran.out).toContain("set TOLLGATE_LIMITS to one Redis for all of them.");
  });

  test("says which server is told everything unencrypted", async () => {
    const ran = await tollgate(["doctor"], {
      TOLLGATE_STORE: "postgres://me:the-store-password@books.invalid/books",
      TOLLGATE_SECRET: "the secret of all nodes",
    });
    expect(ran.out).toContain("Note: TOLLGATE_STORE: the books travel unencrypted to books.invalid; ");
    expect(ran.out + ran.errors).not.toContain("the-store-password");
  });
});
