import { statSync } from "node:fs";

/** Calls back when a file's content was replaced. Asks once a second, because events get lost on shared folders. */
export function watchFile(path: string, changed: () => void, everyMs = 1_000): () => void {
  let seen = stampOf(path);
  const timer = setInterval(() => {
    const stamp = stampOf(path);
    if (stamp === seen) return;
    seen = stamp;
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
