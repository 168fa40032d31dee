import type { Log } from "../platform/log.ts";
import type { TaskBook } from "./task-book.ts";

interface Parts {
  readonly tasks: Pick<TaskBook, "listUpstreams">;
  readonly isConfigured: (upstream: string) => boolean;
  readonly monotonicMs: () => number;
  readonly log: Log;
}

/** Tasks last for minutes and their deadline is a day away: time enough to hear of it, and to bring the upstream back. */
const lookEveryMs = 60_000;

/**
 * Tells the operator, once for each upstream, of open tasks that nobody can be asked about because the configuration lost
 * their upstream: their vendor makes and bills what nobody will be charged for.
 */
export function createOrphanNews({ tasks, isConfigured, monotonicMs, log }: Parts): () => Promise<void> {
  const told = new Set<string>();
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  return async () => {
    if (monotonicMs() - lookedAtMs < lookEveryMs) return;
    lookedAtMs = monotonicMs();
    const lost = (await tasks.listUpstreams()).filter((upstream) => !isConfigured(upstream));
    for (const upstream of told) if (!lost.includes(upstream)) told.delete(upstream);
    for (const upstream of lost) {
      if (told.has(upstream)) continue;
      told.add(upstream);
      log.warn("tasks are open at an upstream that is not configured any more; nobody can be charged", {
        upstream,
      });
    }
  };
}
