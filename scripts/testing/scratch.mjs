// The folder in which one run of the tests keeps its files.

import { existsSync, mkdtempSync, readdirSync, statfsSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";

const scratchBytesMin = 4 * 2 ** 30;
/** Followed by the id of the process that made it, which tells others whether it is still in use. */
const scratchPrefix = "tollgate-tests-";
/** Processes of another container are not seen here, and may share this memory; but no run takes an hour. */
const leftoverAgeMsMin = 3_600_000;

export async function makeScratch() {
  const parent = scratchParent();
  await removeLeftovers(parent);
  return mkdtempSync(path.join(parent, `${scratchPrefix}${process.pid}-`));
}

/** A browser that was just ended may still write; only the asynchronous form begins anew with what it wrote. */
export const removeScratch = (scratch) => rm(scratch, { recursive: true, force: true, maxRetries: 5 });

/**
 * Tests wait for thousands of commits. What they show does not depend on a disk, so they use a disk in memory where there is
 * one with room, and a real disk that is slow for a while fails nothing.
 */
function scratchParent() {
  const memory = "/dev/shm";
  if (!existsSync(memory)) return os.tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= scratchBytesMin ? memory : os.tmpdir();
}

/** A run that was killed could not clean up, and what it left fills the memory. */
async function removeLeftovers(parent) {
  for (const name of readdirSync(parent)) {
    const [, pid] = new RegExp(`^${scratchPrefix}(\\d+)-`).exec(name) ?? [];
    if (pid === undefined || isAlive(Number(pid))) continue;
    const folder = path.join(parent, name);
    const changedMs = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - changedMs < leftoverAgeMsMin) continue;
    // What belongs to somebody else stays.
    await rm(folder, { recursive: true, force: true }).catch(() => {});
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code !== "ESRCH";
  }
}
