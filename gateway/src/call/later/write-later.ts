import { describeError, type Log } from "../../platform/log.ts";

/** Short, because a store is often busy for a moment only. */
const firstRetryMs = 500;
/** A disk that stays full is not tried more often than this; making room takes people minutes. */
const retryMsMax = 30_000;

/** What is to be written: in words that are always the same, so that they can be counted, and its id. */
interface Late {
  readonly what: string;
  readonly about: { readonly request_id: string } | { readonly task_id: string };
}

/**
 * Writes what could not be written, as soon as the store accepts it. What is lost when the process dies, the next start
 * finds.
 */
export function writeLater(
  late: Late,
  write: () => Promise<void>,
  { log }: { readonly log: Log },
  retryMs = firstRetryMs,
): void {
  const timer = setTimeout(() => {
    write().catch((error: unknown) => {
      log.error(`${late.what} still cannot be written`, { ...late.about, ...describeError(error) });
      writeLater(late, write, { log }, Math.min(retryMs * 2, retryMsMax));
    });
  }, retryMs);
  timer.unref();
}
