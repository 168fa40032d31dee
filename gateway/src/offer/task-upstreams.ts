import type { Config } from "../config/config.ts";
import { isSold, type Operation } from "../operation/operation.ts";
import type { Upstream } from "../operation/upstream.ts";
import type { TaskUpstream } from "../tasks/task-desk.ts";
import type { OfferedOperation } from "./offer.ts";

/**
 * Who may have tasks under way, and where each is asked about them: whoever serves an operation with tasks, and whoever
 * could and is configured, should the operator have taken the operation from it since.
 */
export function findTaskUpstreams(
  offered: readonly OfferedOperation[],
  { upstreams: configured }: Config,
): readonly TaskUpstream[] {
  const all = [...configured].map(([name, upstream]): Upstream => ({ name, ...upstream, sandbox: false }));
  const found = new Map<string, TaskUpstream>();
  for (const { operation, upstreams } of offered) {
    for (const upstream of [...upstreams, ...all]) {
      const tasksPath = tasksPathAt(operation, upstream);
      if (tasksPath !== undefined) found.set(upstream.name, { upstream, tasksPath });
    }
  }
  return [...found.values()];
}

const tasksPathAt = (operation: Operation, { protocol }: Upstream): string | undefined =>
  isSold(operation) && operation.task ? operation.servedBy[protocol]?.tasksPath : undefined;
