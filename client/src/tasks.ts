import { timerMs } from "./check-setting.ts";
import { TollgateError } from "./errors.ts";
import type { Outputs } from "./operations.ts";
import { membersOf } from "./read-answer.ts";
import type { Clock } from "./waiting.ts";

/** A task as the gateway tells of it. */
export type TaskState = Outputs["tasks.get"];

export type TaskStatus = TaskState["output"]["task_status"];

export interface WaitOptions {
  /** How long to wait in all; the task goes on and can be waited for again. */
  readonly timeoutMs?: number;
  /** Between two polls; never faster than two per second, whatever is asked for. */
  readonly pollEveryMs?: number;
  readonly onProgress?: (progress: TaskProgress) => void;
  readonly signal?: AbortSignal | undefined;
}

export interface TaskProgress {
  readonly status: TaskStatus;
  readonly polls: number;
  readonly waitedMs: number;
  /** What the gateway told. */
  readonly task: unknown;
}

const timeoutUsualMs = 5 * 60_000;
const pollUsualMs = 3_000;
const pollSpreadMs = 2_000;
const pollFloorMs = 500;
/** What the last look has for its answer. */
const lastLookMs = 500;

/**
 * Polls until the task is final. `UNKNOWN` is not final: a task that was just made, or whose vendor is slow to tell,
 * can still come to its end. The last poll comes shortly before the time is over; one that is under way then is not waited
 * for.
 */
export async function waitForTask<Task>(
  poll: (signal: AbortSignal) => Promise<Task>,
  options: WaitOptions,
  { clock, random }: { readonly clock: Clock; readonly random: () => number },
): Promise<Task> {
  const timeoutMs = timerMs("timeoutMs", options.timeoutMs ?? timeoutUsualMs);
  const pollEveryMs = timerMs("pollEveryMs", options.pollEveryMs ?? pollUsualMs);
  // Without an interval of the caller's: three to five seconds, so that many waiters do not poll in step.
  const spreadMs = options.pollEveryMs === undefined ? pollSpreadMs : 0;
  const startedMs = clock.nowMs();
  const overtime = new AbortController();
  const timer = setTimeout(() => overtime.abort(), timeoutMs);
  const stops = [overtime.signal, ...(options.signal ? [options.signal] : [])];
  let told: Task | undefined;

  const unheard = (cause: unknown): unknown => {
    if (options.signal?.aborted === true) return stopped(told, cause);
    if (overtime.signal.aborted) return notFinal(told, clock.nowMs() - startedMs, cause);
    return cause instanceof TollgateError ? inDoubt(cause) : cause;
  };
  try {
    for (let polls = 1; ; polls++) {
      const task = await poll(AbortSignal.any(stops)).catch((cause: unknown) => {
        throw unheard(cause);
      });
      told = task;
      const status = statusOf(task);
      const waitedMs = clock.nowMs() - startedMs;
      options.onProgress?.({ status, polls, waitedMs, task });
      if (final.has(status)) return task;
      const usualMs = Math.max(pollFloorMs, pollEveryMs + spreadMs * random());
      const pauseMs = Math.min(usualMs, timeoutMs - waitedMs - lastLookMs);
      // Another look would come too soon after this one, or too late.
      if (pauseMs < pollFloorMs) throw notFinal(task, waitedMs);
      await clock.sleep(pauseMs, options.signal).catch((cause: unknown) => {
        throw stopped(task, cause);
      });
    }
  } finally {
    clearTimeout(timer);
  }
}

function notFinal(task: unknown, waitedMs: number, cause?: unknown): TollgateError {
  const seconds = Math.round(waitedMs / 1000);
  const status = statusOf(task);
  const heard =
    task === undefined
      ? `Nothing was heard of the task for ${seconds} s; it may still be running.`
      : `The task is ${status} after ${seconds} s; it ${status === "UNKNOWN" ? "may still be running" : "goes on"}.`;
  const facts = { kind: "timeout", code: "task_not_final", moneyMoved: "unknown" } as const;
  return new TollgateError(heard, { ...facts, body: task, cause });
}

const stopped = (task: unknown, cause: unknown): TollgateError =>
  new TollgateError("The caller stopped waiting; the task goes on.", {
    kind: "aborted",
    code: "aborted",
    moneyMoved: "unknown",
    body: task,
    cause,
  });

/** A poll is free, but what it asked about is not: a task that cannot be asked about may have been charged. */
const inDoubt = (error: TollgateError): TollgateError =>
  error.attempts === 0
    ? error
    : new TollgateError(error.message, {
        ...error,
        moneyMoved: "unknown",
        chargedMicrosUsd: undefined,
        cause: error.cause,
      });

const final: ReadonlySet<TaskStatus> = new Set(["SUCCEEDED", "FAILED", "CANCELED"]);

const known: readonly TaskStatus[] = ["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELED", "UNKNOWN"];

const statusOf = (task: unknown): TaskStatus => {
  const status = membersOf(membersOf(task)["output"])["task_status"];
  return known.find((word) => word === status) ?? "UNKNOWN";
};
