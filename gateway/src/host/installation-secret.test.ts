import { afterEach, beforeEach, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemBytes } from "../platform/chance.ts";
import { findInstallationSecret, makeInstallationSecret } from "./installation-secret.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "tollgate-secret-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test("a secret is made once, for its owner's eyes only, and nothing else is left in the folder", () => {
  const data = join(folder, "data");
  const secret = makeInstallationSecret(data, systemBytes);
  expect(secret).toMatch(/^[0-9a-f]{64}$/);
  expect(readdirSync(data)).toEqual(["secret"]);
  expect(statSync(join(data, "secret")).mode & 0o777).toBe(0o600);
  expect(makeInstallationSecret(data, systemBytes)).toBe(secret);
  expect(findInstallationSecret(undefined, data)).toBe(secret);
});

test("of two that make one at once both use the one that came first", () => {
  const made: string[] = [];
  const overtaken = makeInstallationSecret(folder, (count) => {
    made.push(makeInstallationSecret(folder, systemBytes));
    return systemBytes(count);
  });
  expect(new Set([overtaken, ...made, readFileSync(join(folder, "secret"), "utf8").trim()]).size).toBe(1);
  expect(readdirSync(folder)).toEqual(["secret"]);
});

test("whoever fails in the middle leaves nothing behind, and the next one makes it", () => {
  const failing = (count: number): Uint8Array => {
    if (count === 32) throw new Error("out of order");
    return systemBytes(count);
  };
  expect(() => makeInstallationSecret(folder, failing)).toThrow(
    `${join(folder, "secret")} cannot be made: out of order.`,
  );
  expect(readdirSync(folder)).toEqual([]);
  expect(findInstallationSecret(undefined, folder)).toBeUndefined();
  expect(makeInstallationSecret(folder, systemBytes)).toMatch(/^[0-9a-f]{64}$/);
});

test("a secret that is empty is told with both ways out, and is not replaced", () => {
  writeFileSync(join(folder, "secret"), "\n");
  for (const use of [
    () => findInstallationSecret(undefined, folder),
    () => makeInstallationSecret(folder, systemBytes),
  ]) {
    expect(use).toThrow(/is empty\. Restore it from a backup: .* Where there is no data yet, remove it/);
  }
  expect(readFileSync(join(folder, "secret"), "utf8")).toBe("\n");
});

test("a folder in the place of the secret is told as one, by its name", () => {
  mkdirSync(join(folder, "secret"));
  for (const use of [
    () => findInstallationSecret(undefined, folder),
    () => makeInstallationSecret(folder, systemBytes),
  ]) {
    expect(use).toThrow(`${join(folder, "secret")} is a folder.`);
  }
});

const isRoot = process.platform === "linux" && process.getuid?.() === 0;

test.skipIf(!isRoot)("what root makes in the service's folder is the service's (needs root)", () => {
  chownSync(folder, 65_532, 65_531);
  const data = join(folder, "data");
  makeInstallationSecret(data, systemBytes);
  for (const [place, allowed] of [
    [data, 0o700],
    [join(data, "secret"), 0o600],
  ] as const) {
    const { uid, gid, mode } = statSync(place);
    expect([uid, gid, mode & 0o777]).toEqual([65_532, 65_531, allowed]);
  }
});

test.skipIf(!isRoot || Bun.which("setpriv") === null)(
  "one that this user may not read, or in a folder that is closed, is told as such (needs root)",
  async () => {
    const program = `import { findInstallationSecret } from ${JSON.stringify(join(import.meta.dir, "installation-secret.ts"))};
      try { findInstallationSecret(undefined, process.argv[1]); } catch (error) { console.log(error.message); }`;
    // Without these rights root reads what belongs to others only where they allow it.
    const bound = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"];
    const file = join(folder, "secret");
    makeInstallationSecret(folder, systemBytes);
    for (const closed of [file, folder]) {
      chownSync(closed, 65_532, 65_531);
      const child = Bun.spawn([...bound, process.execPath, "-e", program, folder], { stderr: "inherit" });
      expect(await new Response(child.stdout).text()).toBe(
        `${file} cannot be read by this user. Run this as the user who owns the data.\n`,
      );
      chownSync(closed, 0, 0);
    }
  },
);

// A newcomer without root sees this skipped by name; CI has root and fails without it.
test.skipIf(!isRoot && process.env["CI"] === undefined)(
  "a first start on a full disk says so and leaves nothing that keeps the next one from starting (needs root)",
  () => {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]);
    try {
      const filler = join(folder, "filler");
      writeFileSync(filler, Buffer.alloc(64 * 1024));
      expect(() => makeInstallationSecret(folder, systemBytes)).toThrow(/secret cannot be made: ENOSPC/);
      expect(readdirSync(folder)).toEqual(["filler"]);
      rmSync(filler);
      expect(makeInstallationSecret(folder, systemBytes)).toMatch(/^[0-9a-f]{64}$/);
    } finally {
      execFileSync("umount", ["-l", folder]);
      rmdirSync(folder);
    }
  },
);
