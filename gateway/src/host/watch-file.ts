import { readlinkSync, statSync } from "node:fs";
import { codeOf } from "../platform/error-code.ts";

/**
 * Calls back when a file's content was replaced, or others may read it than before, and it was the same at two looks in a
 * row: half of a file may be a whole one to its reader. Looks twice a second, because events get lost on shared folders.
 */
export function watchFile(path: string, changed: () => void, everyMs = 500): () => void {
  let told = stampOf(path);
  let seen = told;
  const timer = setInterval(() => {
    const stamp = stampOf(path);
    const isAtRest = stamp === seen;
    seen = stamp;
    if (!isAtRest || stamp === told) return;
    told = stamp;
    changed();
  }, everyMs);
  timer.unref();
  return () => clearInterval(timer);
}

function stampOf(path: string): string {
  try {
    const { mtimeMs, size, ino, mode, uid, gid } = statSync(path);
    return `${mtimeMs} ${size} ${ino} ${mode} ${uid} ${gid}`;
  } catch (error) {
    return `${codeOf(error)} ${linkOf(path)}`;
  }
}

/** A link to nowhere is something else than nothing: whoever reads the file says where it leads. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
