import { lstatSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { codeOf } from "../../../platform/error-code.ts";

/**
 * The file that a name leads to. SQLite follows links too, so whatever is kept beside the file, its lock above all, has to
 * be beside that one: by another name it would be another lock. A hard link cannot be told from the file itself.
 */
export function realPathOf(path: string): string {
  try {
    if (!lstatSync(path).isSymbolicLink()) return path;
    return realpathSync(path);
  } catch (error) {
    // Whoever opens it says what is wrong with it.
    if (codeOf(error) !== "ENOENT" || !isLink(path)) return path;
    // The link is there, and leads to where the file is going to be made.
    return realPathOf(resolve(dirname(path), readlinkSync(path)));
  }
}

const isLink = (path: string): boolean =>
  lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
