// What a run opens and must not leave behind, however it ends: processes, and folders of up to ten gigabytes. Whoever
// opens something says here how to undo it, and takes that back once it is undone in the ordinary way.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const undoing = new Set<() => void>();

/** Returns what to call when nothing is left to undo. */
export function undoAtExit(undo: () => void): () => void {
  undoing.add(undo);
  return () => void undoing.delete(undo);
}

/**
 * Put before the words of a program: the kernel tells it to end when we are killed and can undo nothing. Empty where the
 * system has no such help.
 */
export const endingWithUs: readonly string[] = canEndWithUs() ? ["setpriv", "--pdeathsig", "TERM", "--"] : [];

function canEndWithUs(): boolean {
  if (Bun.which("setpriv") === null) return false;
  // There is a smaller setpriv that cannot do it.
  return Bun.spawnSync(["setpriv", "--pdeathsig", "TERM", "--", "true"], { stderr: "ignore" }).success;
}

/** Ends with us at the latest. nginx takes its worker along when it is asked to end, not when it is killed. */
export function tied<Child extends Bun.Subprocess>(child: Child): Child {
  const forget = undoAtExit(() => child.kill("SIGTERM"));
  child.exited.then(forget, forget);
  return child;
}

export interface TemporaryFolder {
  readonly path: string;
  readonly remove: () => void;
}

/** Its name says whose it is, so that another run knows whether anybody still needs it. */
export function openTemporaryFolder(kind: string, inside = tmpdir()): TemporaryFolder {
  mkdirSync(inside, { recursive: true });
  const path = mkdtempSync(join(inside, `${prefix}${process.pid}-${kind}-`));
  const forget = undoAtExit(() => erase(path));
  return {
    path,
    remove: () => {
      erase(path);
      forget();
    },
  };
}

const prefix = "tollgate-bench-";

/** A run that was killed could not clean up behind itself. */
export function removeOldFolders(inside = tmpdir()): void {
  if (!existsSync(inside)) return;
  for (const name of readdirSync(inside)) {
    const owner = name.startsWith(prefix) ? /^\d+(?=-)/.exec(name.slice(prefix.length))?.[0] : undefined;
    if (owner !== undefined && !existsSync(`/proc/${owner}`)) erase(join(inside, name));
  }
}

/** A program that is just ending may remove files of its own at the same time; then Bun stops half-way and says nothing. */
function erase(path: string): void {
  for (let triesLeft = 20; triesLeft > 0 && existsSync(path); triesLeft--) {
    if (triesLeft < 20) Bun.sleepSync(10);
    rmSync(path, { recursive: true, force: true });
  }
}

/** For the program itself: from here on an interrupted run cleans up as a finished one does. */
export function cleanUpWhenInterrupted(): void {
  // The last opened goes first: a process before the folder it writes to.
  process.on("exit", () => {
    for (const undo of [...undoing].toReversed()) undo();
  });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130));
}
