import { expect, test } from "bun:test";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { endingWithUs, openTemporaryFolder, removeOldFolders } from "./leftovers.ts";

test("a run removes what a killed one left behind, and nothing of one that lives", () => {
  const home = openTemporaryFolder("home");
  const ours = openTemporaryFolder("nginx", home.path);
  // No process has a number that large.
  const left = join(home.path, "tollgate-bench-999999999-nginx-abcdef");
  const others = join(home.path, "somebody-elses");
  for (const path of [left, others]) mkdirSync(path);
  removeOldFolders(home.path);
  expect([ours.path, left, others].map((path) => existsSync(path))).toEqual([true, false, true]);
  home.remove();
});

test.skipIf(endingWithUs.length === 0)("a child ends when whoever started it is killed", async () => {
  const parent = Bun.spawn(
    [
      process.execPath,
      "-e",
      `console.log(Bun.spawn(${JSON.stringify([...endingWithUs, "sleep", "60"])}).pid); setInterval(() => {}, 1000);`,
    ],
    { stdout: "pipe" },
  );
  const { value } = await parent.stdout.getReader().read();
  const child = Number(new TextDecoder().decode(value));
  // It becomes what it is to be in a moment.
  await Bun.sleep(200);
  expect(existsSync(`/proc/${child}`)).toBe(true);
  parent.kill("SIGKILL");
  await parent.exited;
  for (let triesLeft = 100; triesLeft > 0 && existsSync(`/proc/${child}`); triesLeft--) await Bun.sleep(20);
  expect(existsSync(`/proc/${child}`)).toBe(false);
});
