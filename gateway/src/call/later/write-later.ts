import { isOfStore } from "../../ledger/store-errors.ts";
import { describeError } from "../../platform/log.ts";
import type { Gate } from "../gate.ts";

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
  { log, storeNews }: Pick<Gate, "log" | "storeNews">,
  retryMs = firstRetryMs,
): void {
  const timer = setTimeout(() => {
    write().catch((error: unknown) => {
      const event = `${late.what} still cannot be written`;
      // A store that takes nothing takes it of nobody, of whom there may be thousands.
      if (isOfStore(error)) storeNews.failed(event, error, late.about);
      else log.error(event, { ...late.about, ...describeError(error) });
      writeLater(late, write, { log, storeNews }, Math.min(retryMs * 2, retryMsMax));
    });
  }, retryMs);
  timer.unref();
}
