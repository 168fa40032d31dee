import { watchFile } from "./watch-file.ts";

/** `again` is for what failed for the moment, and may work later without anybody's help. */
export type ReloadEnd = "over" | "again";

/** Soon enough that a store that was away for a moment is not waited for. */
const firstRetryMs = 500;
/** Whoever mends what stays broken sees the new prices within half a minute. */
const retryMsMax = 30_000;

export interface Reloads {
  /** From now on they are done, and what was wanted before is first. `reload` tells of its own failures. */
  readonly begin: (reload: () => Promise<ReloadEnd>) => void;
  readonly stop: () => void;
}

/**
 * Wants a reload when the file changes, or one that it takes secrets from, and at SIGHUP, one at a time: the newest file must
 * win. Whatever comes while one runs is one more reload after it. One that is to be tried again is, ever more slowly, until
 * it is over. A server opens it before it reads the file: a change during its start would be missed otherwise, and the signal
 * would end it.
 */
export function openReloads(file: string, secretFiles: () => readonly string[]): Reloads {
  let reload: (() => Promise<ReloadEnd>) | undefined;
  let isRunning = false;
  let isWanted = false;
  let isStopped = false;
  let retryMs = firstRetryMs;
  let retry: Timer | undefined;

  const runAll = async (): Promise<void> => {
    isRunning = true;
    try {
      while (reload && isWanted && !isStopped) {
        isWanted = false;
        clearTimeout(retry);
        if ((await reload()) === "again") tryAgain();
      }
    } finally {
      isRunning = false;
    }
  };

  const want = (): void => {
    isWanted = true;
    if (!isRunning && !isStopped) runAll().catch(() => {});
  };

  const tryAgain = (): void => {
    retry = setTimeout(want, retryMs).unref();
    retryMs = Math.min(retryMs * 2, retryMsMax);
  };

  const onChange = (): void => {
    retryMs = firstRetryMs;
    want();
  };

  process.on("SIGHUP", onChange);
  // Before the reload reads them: what changes after that is one more.
  const watchSecrets = () => secretFiles().map((path) => watchFile(path, onChange));
  let stopsOfSecrets = watchSecrets();
  const stopWatchingSecrets = (): void => stopsOfSecrets.forEach((stop) => stop());
  const stopWatching = watchFile(file, () => {
    stopWatchingSecrets();
    stopsOfSecrets = watchSecrets();
    onChange();
  });
  return {
    begin: (given) => {
      reload = given;
      if (isWanted) want();
    },
    stop: () => {
      // Still listened for: a signal that nobody listens for would end the program in the middle of its stop.
      isStopped = true;
      clearTimeout(retry);
      stopWatching();
      stopWatchingSecrets();
    },
  };
}
