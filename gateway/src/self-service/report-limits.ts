import { groupRequests, keyRequests, keySlot, keyTokens, upstreamRequests } from "../limits/call-limits.ts";
import { resetSeconds } from "../limits/limit-times.ts";
import type { Limiter, Want } from "../limits/limiter.ts";
import type { SharedLimit } from "../offer/list-limits.ts";
import type { Asker } from "../operation/asker.ts";
import type { LimitReport } from "../operation/self-service.ts";
import type { TaskBook } from "../tasks/task-book.ts";

interface Parts {
  readonly limiter: Limiter;
  readonly tasks: Pick<TaskBook, "countOpen">;
}

/** Every limit that this credential meets, and what is left of it. */
export const reportLimits = async (
  asker: Asker,
  shared: readonly SharedLimit[],
  { limiter, tasks }: Parts,
): Promise<LimitReport[]> => [
  ...(await reportCounted(asker, shared, limiter)),
  ...(await reportOpenTasks(asker, shared, tasks)),
];

async function reportCounted(
  asker: Asker,
  shared: readonly SharedLimit[],
  limiter: Limiter,
): Promise<LimitReport[]> {
  const { keyId, limits, nowMs } = asker;
  const report = async (
    name: string,
    appliesTo: LimitReport["applies_to"],
    want: Want,
  ): Promise<LimitReport> => {
    const { limit, remaining, resetsInMs } = await limiter.look(want);
    // Nobody knows when a running call gives its place back: it may be now.
    const reset = resetSeconds(want.kind === "slot" ? 0 : resetsInMs, nowMs);
    return { name, applies_to: appliesTo, limit, remaining, reset };
  };
  const own = [
    await report("requests_per_minute", "all", keyRequests(keyId, limits.rpm)),
    await report("tokens_per_minute", operationsWith(shared, "tokens"), keyTokens(keyId, 0, limits.tpm)),
    await report("concurrency", operationsWith(shared, "slot"), keySlot(keyId, "", limits.concurrency)),
  ];
  for (const limit of shared) {
    if (limit.kind === "group")
      own.push(await report("requests_per_minute", limit.operations, groupRequests(keyId, limit)));
    if (limit.kind === "upstream") {
      own.push(await report("upstream", limit.operations, upstreamRequests(limit.upstream, limit.limit)));
    }
  }
  return own;
}

/** Open tasks are counted in the books, not by the limiter: they outlive the process. */
async function reportOpenTasks(
  { keyId, nowMs }: Asker,
  shared: readonly SharedLimit[],
  tasks: Pick<TaskBook, "countOpen">,
): Promise<LimitReport[]> {
  const reports: LimitReport[] = [];
  for (const limit of shared) {
    if (limit.kind !== "tasks") continue;
    const remaining = Math.max(0, limit.limit - (await tasks.countOpen(keyId)));
    const { operations, limit: most } = limit;
    const reset = Math.ceil(nowMs / 1000);
    reports.push({ name: "concurrent_tasks", applies_to: operations, limit: most, remaining, reset });
  }
  return reports;
}

const operationsWith = (shared: readonly SharedLimit[], kind: "tokens" | "slot"): readonly string[] =>
  shared.flatMap((limit) => (limit.kind === kind ? limit.operations : []));
