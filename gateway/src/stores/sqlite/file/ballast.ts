import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { giveToOwnerOf } from "../../../platform/give-to-owner.ts";
import { nearestFolder } from "./check-writable.ts";

/**
 * Room kept for the end of running calls. When the disk is full the ballast is thrown overboard: no new call
 * is taken, but those that run can still be settled. It is taken on again once somebody has made room.
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
/** Just as much room is there when it has been thrown overboard and nobody has done anything about the disk. */
const freeBytesMin = 2 * ballastBytes;
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

/** Throws where whoever begins to serve would find no room for it, and so take no calls. Makes nothing. */
export function checkRoomForBallast(path: string): void {
  if (isWhole(path)) return;
  const folder = nearestFolder(dirname(path));
  const freeBytes = freeBytesIn(folder);
  if (freeBytes >= freeBytesMin) return;
  throw new Error(
    `The disk of ${folder} has ${inMebibytes(freeBytes)} MiB free. A server takes no calls there until it has ` +
      `${inMebibytes(freeBytesMin)}.`,
  );
}

const inMebibytes = (bytes: number): number => Math.floor(bytes / 1024 / 1024);

/** False when the disk has no room for it. */
function fill(path: string): boolean {
  if (isWhole(path)) return true;
  try {
    // One of another size is what a process left behind that was killed while it wrote.
    rmSync(path, { force: true });
    if (freeBytesIn(dirname(path)) < freeBytesMin) return false;
    const file = openSync(path, "wx", 0o600);
    giveToOwnerOf(dirname(path), path);
    try {
      const zeros = Buffer.alloc(1024 * 1024);
      // The last write that finds any room takes what there is, and says how much that was.
      for (let written = 0; written < ballastBytes;)
        written += writeSync(file, zeros, 0, Math.min(zeros.byteLength, ballastBytes - written));
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

const isWhole = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.size === ballastBytes;

function freeBytesIn(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
