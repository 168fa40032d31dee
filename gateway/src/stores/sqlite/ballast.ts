import { closeSync, existsSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";

/**
 * Room kept for the end of running calls. When the disk is full the ballast is thrown overboard: no new call
 * is taken, but those that run can still be settled. It is taken on again once there is room.
 */
export interface Ballast {
  /** True when there was something to throw overboard. */
  readonly drop: () => boolean;
  readonly isGone: () => boolean;
  /** Tries, now and then, to take it on again. */
  readonly restore: () => void;
}

/** Thousands of settlements fit into this; a fresh clone hardly notices it. */
const ballastBytes = 8 * 1024 * 1024;
const restoreEveryMs = 5_000;

export function createBallast(path: string, monotonicMs: () => number): Ballast {
  let gone = !fill(path);
  let triedAtMs = monotonicMs();
  return {
    drop: () => {
      if (gone) return false;
      gone = true;
      triedAtMs = monotonicMs();
      rmSync(path, { force: true });
      return true;
    },
    isGone: () => gone,
    restore: () => {
      if (!gone || monotonicMs() - triedAtMs < restoreEveryMs) return;
      triedAtMs = monotonicMs();
      gone = !fill(path);
    },
  };
}

/** False when the disk has no room for it. */
function fill(path: string): boolean {
  if (existsSync(path)) return true;
  try {
    const file = openSync(path, "wx", 0o600);
    try {
      const zeros = Buffer.alloc(1024 * 1024);
      for (let written = 0; written < ballastBytes; written += zeros.byteLength) writeSync(file, zeros);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    return true;
  } catch {
    rmSync(path, { force: true });
    return false;
  }
}
