// Group commit against one commit for each operation, on a disk whose fsync takes 1 ms longer. A small C
// library in front of libc makes it so; without a C compiler the natural disk is measured and said so.
//
//   node scripts/bench-group-commit.mjs [milliseconds of added fsync, default 1]

import "./require-node.mjs";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bunEnv, openBun } from "./bun.mjs";
import { root } from "./install.mjs";

const RATIO_MIN = 10;
const addedMs = Number(process.argv[2] ?? "1");
const bun = await openBun();
const folder = mkdtempSync(join(tmpdir(), "tollgate-bench-"));

try {
  const slow = buildSlowFsync();
  const one = measure(1, slow);
  const many = measure(256, slow);
  const ratio = many.cycles_per_second / one.cycles_per_second;
  console.log(slow === undefined ? "No C compiler: the disk as it is." : `fsync made ${addedMs} ms slower.`);
  console.log(`one commit for each operation: ${one.cycles_per_second} hold+settle cycles/s`);
  console.log(`256 callers sharing commits:   ${many.cycles_per_second} hold+settle cycles/s`);
  console.log(`ratio ${ratio.toFixed(1)} (at least ${RATIO_MIN} is expected when fsync costs 1 ms)`);
  if (slow !== undefined && addedMs === 1 && ratio < RATIO_MIN) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function measure(callers, slow) {
  const env = { ...bunEnv, CALLERS: String(callers), ...(slow === undefined ? {} : { LD_PRELOAD: slow }) };
  const ran = spawnSync(bun, ["bench/group-commit.ts"], { cwd: root, env, encoding: "utf8" });
  if (ran.status !== 0) throw new Error(ran.stderr);
  return JSON.parse(ran.stdout);
}

function buildSlowFsync() {
  const source = join(folder, "slow.c");
  const library = join(folder, "slow.so");
  writeFileSync(
    source,
    `#define _GNU_SOURCE
     #include <dlfcn.h>
     #include <unistd.h>
     static void slow(void) { usleep(${Math.round(addedMs * 1000)}); }
     int fsync(int fd) { int (*real)(int) = dlsym(RTLD_NEXT, "fsync"); slow(); return real(fd); }
     int fdatasync(int fd) { int (*real)(int) = dlsym(RTLD_NEXT, "fdatasync"); slow(); return real(fd); }`,
  );
  try {
    execFileSync("cc", ["-shared", "-fPIC", "-o", library, source, "-ldl"], { stdio: "ignore" });
    return library;
  } catch {
    return undefined;
  }
}
