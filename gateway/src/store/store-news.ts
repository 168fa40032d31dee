import { describeError, type Log } from "../platform/log.ts";

/** Says once that the store fails, and why, and once that it works again: a line for each call would fill the log. */
export interface StoreNews {
  readonly failed: (what: string, error: unknown, about?: About) => void;
}

/** Whose it is that the store failed at first; others may have met the same. */
interface About {
  readonly request_id?: string;
  readonly task_id?: string;
}

interface Parts {
  /** Rejects unless the store can be read and written. */
  readonly ping: () => Promise<void>;
  readonly monotonicMs: () => number;
  readonly log: Log;
  readonly lookEveryMs?: number;
}

interface Trouble {
  readonly sinceMs: number;
  failures: number;
  lastMs: number;
  /** What was told already; another failure meanwhile is news of its own. */
  readonly told: Set<string>;
}

const lookUsualMs = 5_000;
/** Errors that say something else each time must be neither told nor remembered without end. */
const toldMax = 20;

export function createStoreNews({ ping, monotonicMs, log, lookEveryMs = lookUsualMs }: Parts): StoreNews {
  let trouble: Trouble | undefined;

  const lookLater = (): void => void setTimeout(() => void look(), lookEveryMs).unref();

  const look = async (): Promise<void> => {
    if (!trouble) return;
    const isQuiet = monotonicMs() - trouble.lastMs >= lookEveryMs;
    if (!isQuiet || !(await ping().then(yes, no))) return lookLater();
    const { sinceMs, failures } = trouble;
    trouble = undefined;
    log.warn("the store works again", { failures, troubled_ms: Math.round(monotonicMs() - sinceMs) });
  };

  return {
    failed: (what, error, whose) => {
      const nowMs = monotonicMs();
      if (!trouble) {
        trouble = { sinceMs: nowMs, lastMs: nowMs, failures: 0, told: new Set() };
        lookLater();
      }
      trouble.failures++;
      trouble.lastMs = nowMs;
      const about = { ...whose, ...describeError(error) };
      const news = `${what} ${about.error}`;
      if (trouble.told.has(news) || trouble.told.size >= toldMax) return log.debug(what, about);
      trouble.told.add(news);
      log.error(what, about);
    },
  };
}

const yes = (): boolean => true;
const no = (): boolean => false;
