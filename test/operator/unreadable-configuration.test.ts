// A configuration that is there and cannot be read: it is never taken for none, for then all would be sold from the sandbox.

import { expect, test } from "bun:test";
import { chownSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { projectFolder } from "../support/project-folder.ts";
import { runProgram, runTollgate, type Ran } from "../support/run-tollgate.ts";
import { until } from "../support/until.ts";
import { snapshotMicrosNow, useStarts } from "./operator-starts.ts";

const starts = useStarts();

const priced = (usd: string): string => `operations: { financial.metrics.snapshot: { price_usd: ${usd} } }`;

test("a link to nowhere keeps a server from starting, and the doctor says where it leads", async () => {
  const { folder } = starts;
  const file = join(folder, "tollgate.yaml");
  symlinkSync("mounted/tollgate.yaml", file);
  mkdirSync(join(folder, "mounted"));
  symlinkSync("../elsewhere.yaml", join(folder, "mounted/tollgate.yaml"));
  const complaint = `${file} cannot be used:\n  it leads to ${join(folder, "elsewhere.yaml")}, which is not there`;
  expect(await starts.complaint({})).toContain(complaint);
  const examined = await runTollgate(["doctor"], { folder });
  expect([examined.code, examined.out]).toEqual([1, `${complaint}\n`]);
});

test("a link to nowhere that comes into the place of a configuration, or of none, is told, and the old one stays", async () => {
  const file = join(starts.folder, "tollgate.yaml");
  const gateway = await starts.start();
  const complaints = (): number => gateway.stderr().split("nowhere.yaml, which is not there").length - 1;
  expect(await snapshotMicrosNow(gateway)).toBe(48_000);
  symlinkSync("nowhere.yaml", file);
  await until(() => complaints() === 1);
  rmSync(file);
  writeFileSync(file, priced("0.02"));
  await until(async () => (await snapshotMicrosNow(gateway)) === 20_000);
  rmSync(file);
  symlinkSync("nowhere.yaml", file);
  await until(() => complaints() === 2);
  expect(await snapshotMicrosNow(gateway)).toBe(20_000);
});

test.skipIf(process.getuid?.() !== 0 || Bun.which("setpriv") === null)(
  "a file that this user may not read, or in a folder that is closed, is said to be so (needs root)",
  async () => {
    const { folder } = starts;
    const closed = join(folder, "closed/tollgate.yaml");
    mkdirSync(dirname(closed), { mode: 0o700 });
    const files = [join(folder, "tollgate.yaml"), closed];
    for (const file of files) writeFileSync(file, priced("0.01"), { mode: 0o600 });
    for (const place of [...files, dirname(closed)]) chownSync(place, 65_534, 65_534);
    // Without these rights root reads what belongs to others only where they allow it.
    const bound = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"];
    const program = [...bound, process.execPath, join(projectFolder, "gateway/src/main.ts")];
    for (const [file, named] of [
      [join(folder, "tollgate.yaml"), {}],
      [closed, { TOLLGATE_CONFIG: closed }],
    ] as const) {
      const complaint = `${file} cannot be used:\n  it cannot be read by this user`;
      const run = (word: string): Promise<Ran> =>
        runProgram([...program, word], { folder, environment: { PORT: "0", ...named } });
      const served = await run("serve");
      expect([served.code, served.out]).toEqual([1, ""]);
      expect(served.errors).toContain(complaint);
      const examined = await run("doctor");
      expect([examined.code, examined.out]).toEqual([1, `${complaint}\n`]);
    }
  },
);
