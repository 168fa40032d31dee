import { isSold } from "../operation/operation.ts";
import type { TaskUpstream } from "../tasks/task-desk.ts";
import type { Offer } from "./offer.ts";

/** The upstreams that serve operations with tasks, and where each is asked about them. */
export function taskUpstreams({ operations }: Offer): TaskUpstream[] {
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
