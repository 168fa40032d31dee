import type { Exchanged } from "../operation/exchanged.ts";
import type { Upstream } from "../operation/upstream.ts";
import type { Log } from "../platform/log.ts";

interface Asked {
  readonly upstream: Upstream;
  readonly exchanged: Exchanged;
  /** How many times in a row the vendor said nothing of the task that was asked about. */
  readonly errors: number;
}

/** By then a task was not heard of for half a minute: a hiccup is over. */
const errorsTold = 4;

/**
 * Tells the operator, once until it is heard of again, of an upstream that says nothing of open tasks, as after its key was
 * changed for one that it does not take: what it makes it bills, and what nobody hears of by the deadline nobody pays.
 */
export function createSilenceNews(log: Log): (asked: Asked) => void {
  const told = new Set<string>();
  return ({ upstream: { name: upstream, sandbox }, exchanged, errors }) => {
    if (errors === 0) told.delete(upstream);
    if (errors !== errorsTold || sandbox || told.has(upstream)) return;
    told.add(upstream);
    log.error("an upstream says nothing of open tasks; without its word nobody is charged for them", {
      upstream,
      because: exchanged.kind === "no_answer" ? exchanged.reason : exchanged.kind,
      ...("status" in exchanged ? { status: exchanged.status } : {}),
    });
  };
}
