import type { Ledger } from "../ledger/ledger.ts";
import type { Task } from "../ledger/task-record.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { createOrphanNews } from "./orphan-news.ts";
import type { TaskBook } from "./task-book.ts";

interface Parts {
  readonly tasks: TaskBook;
  readonly ledger: Pick<Ledger, "release">;
  /** Undefined when the configuration lost it. */
  readonly upstreamOf: (name: string) => object | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

const expiredAtOnce = 100;
/** The clocks of nodes may differ by so much. The tasks of a node that is gone may be asked about so much later. */
const clocksApartMs = 60_000;
const bringBackEveryMs = 60_000;

/** Gives back the holds of tasks that reached their deadline without a verdict, and tells of those that must reach it. */
export function createTaskExpiry({ tasks, ledger, upstreamOf, clock, log }: Parts): () => Promise<void> {
  const isConfigured = (upstream: string): boolean => upstreamOf(upstream) !== undefined;
  const tellOrphans = createOrphanNews({ tasks, isConfigured, monotonicMs: clock.monotonicMs, log });
  /** When deadlines were last looked at. At a start nobody knows what the clock was before, so it counts as set back. */
  let lookedAtMs = Number.POSITIVE_INFINITY;
  let broughtBackAtMs = Number.NEGATIVE_INFINITY;

  /** A clock that was ahead, ours or that of a node that is gone, left times at tasks until which nobody would ask about them. */
  const bringBack = async (nowMs: number): Promise<void> => {
    const wentBack = nowMs < lookedAtMs;
    if (wentBack || clock.monotonicMs() - broughtBackAtMs >= bringBackEveryMs) {
      await tasks.bringBack({ nowMs, askedAfterMs: wentBack ? nowMs : nowMs + clocksApartMs });
      broughtBackAtMs = clock.monotonicMs();
    }
    lookedAtMs = nowMs;
  };

  /** After days without a server deadlines have passed that nobody saw; the vendor's word about such tasks comes first. */
  const mayStillBeAsked = ({ at, askedAtMs, deadlineAtMs }: Task): boolean =>
    at !== undefined && askedAtMs < deadlineAtMs && isConfigured(at.upstream);

  const expire = async (task: Task, nowMs: number): Promise<void> => {
    const { id: taskId, callId, fence, attempts, state } = task;
    log.warn("a task reached its deadline without a verdict; its hold goes back", {
      task_id: taskId,
      request_id: callId,
      state,
    });
    await ledger.release({
      callId,
      outcome: "unknown",
      httpStatus: undefined,
      attempts,
      settledAtMs: nowMs,
      task: { taskId, fence, state: "EXPIRED", report: undefined, forgetAtMs: nowMs },
    });
  };

  return async () => {
    const nowMs = clock.wallMs();
    await tellOrphans();
    await bringBack(nowMs);
    for (const task of await tasks.listOverdue(nowMs, expiredAtOnce)) {
      if (!mayStillBeAsked(task)) await expire(task, nowMs);
    }
  };
}
