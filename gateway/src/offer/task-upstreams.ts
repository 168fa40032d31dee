import { isSold } from "../operation/operation.ts";
import type { TaskUpstream } from "../tasks/task-desk.ts";
import type { Offer } from "./offer.ts";

/** The upstreams that serve operations with tasks, and where each is asked about them. */
export function taskUpstreams(offer: Offer): readonly TaskUpstream[] {
  let found = known.get(offer);
  if (!found) known.set(offer, (found = find(offer)));
  return found;
}

/** An offer never changes, and is asked ten times a second. */
const known = new WeakMap<Offer, readonly TaskUpstream[]>();

function find({ operations }: Offer): readonly TaskUpstream[] {
  const found = new Map<string, TaskUpstream>();
  for (const { operation, upstreams } of operations.values()) {
    if (!isSold(operation) || !operation.task) continue;
    for (const upstream of upstreams) {
      const tasksPath = operation.servedBy[upstream.protocol]?.tasksPath;
      if (tasksPath !== undefined) found.set(upstream.name, { upstream, tasksPath });
    }
  }
  return [...found.values()];
}
