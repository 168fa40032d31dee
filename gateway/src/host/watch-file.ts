import { statSync } from "node:fs";

/**
 * Calls back when a file's content was replaced, and it was the same at two looks in a row: half of a file may be a
 * whole one to its reader. Looks twice a second, because events get lost on shared folders.
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
    const { mtimeMs, size, ino } = statSync(path);
    return `${mtimeMs} ${size} ${ino}`;
  } catch {
    return "absent";
  }
}
