// Whoever can read the data reads the hashes of keys, and what everybody did and paid: only its owner can.

import { chmodSync, readdirSync, statSync } from "node:fs";
import { makeFolder } from "../../../platform/make-folder.ts";

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
  makeFolder(folder);
  unlessForbidden(() => {
    if (isOursAlone(folder)) closeToOthers(folder);
  });
}

/** Closes files that were made before to others. Missing ones are passed over. */
export function closeFiles(files: readonly string[]): void {
  for (const file of files) unlessForbidden(() => closeToOthers(file));
}

/** Nobody may be shut out of a folder that others use too, such as the one for temporary files. */
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
