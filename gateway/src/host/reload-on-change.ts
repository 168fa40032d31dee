import { watchFile } from "./watch-file.ts";

/**
 * Reloads when the file changes and at SIGHUP, one reload at a time: the newest file must win. Whatever comes while one
 * runs is one more reload after it. `reload` tells of its own failures.
 */
export function reloadOnChange(file: string, reload: () => Promise<void>): () => void {
  let isRunning = false;
  let isWanted = false;
  let isStopped = false;

  const runAll = async (): Promise<void> => {
    isRunning = true;
    try {
      while (isWanted && !isStopped) {
        isWanted = false;
        await reload();
      }
    } finally {
      isRunning = false;
    }
  };

  const onChange = (): void => {
    isWanted = true;
    if (!isRunning && !isStopped) runAll().catch(() => {});
  };

  process.on("SIGHUP", onChange);
  const stopWatching = watchFile(file, onChange);
  return () => {
    // Still listened for: a signal that nobody listens for would end the program in the middle of its stop.
    isStopped = true;
    stopWatching();
  };
}
