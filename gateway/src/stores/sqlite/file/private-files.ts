// Whoever can read the data reads the hashes of keys, and what everybody did and paid: only its owner can.

import { chmodSync, mkdirSync, readdirSync, statSync } from "node:fs";

/** Runs what makes files, so that others can read none of them, not even while they are made. */
export function makePrivate<Made>(make: () => Made): Made {
  const usualMask = process.umask(0o077);
  try {
    return make();
  } finally {
    process.umask(usualMask);
  }
}

/** Makes the folder, or closes to others the one that an earlier program made. */
export function openPrivateFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  unlessForbidden(() => {
    if (isOursAlone(folder)) closeToOthers(folder);
  });
}

/** Closes files to others that were made before; those that are not there are none. */
export function closeFiles(files: readonly string[]): void {
  for (const file of files) unlessForbidden(() => closeToOthers(file));
}

/** Of a folder in which others have theirs, as in that for temporary files, nobody may be shut out. */
const isOursAlone = (folder: string): boolean =>
  (statSync(folder).mode & stickyBit) === 0 &&
  readdirSync(folder, { withFileTypes: true }).every((entry) => !entry.isDirectory());

const stickyBit = 0o1000;

function closeToOthers(path: string): void {
  const { mode } = statSync(path);
  if ((mode & 0o077) !== 0) chmodSync(path, mode & 0o700);
}

/** What belongs to somebody else, or lies where there are no rights, is used as it is. */
function unlessForbidden(change: () => void): void {
  try {
    change();
  } catch {
    // Its owner decides who reads it.
  }
}
