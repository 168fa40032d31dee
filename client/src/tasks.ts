import { TollgateError } from "./errors.ts";
import { membersOf } from "./read-answer.ts";
import type { Clock } from "./waiting.ts";

export type TaskStatus = "PENDING" | "RUNNING" | "SUCCEEDED" | "FAILED" | "CANCELED" | "UNKNOWN";

/** A task as the gateway tells of it. */
export interface TaskState {
  readonly request_id?: string;
  readonly output: {
    readonly task_id: string;
    readonly task_status: TaskStatus;
    /** On SUCCEEDED; it expires after a few hours. */
    readonly video_url?: string;
    readonly orig_prompt?: string;
    /** `YYYY-MM-DD HH:MM:SS.mmm`, as the next two. */
    readonly submit_time?: string;
    readonly scheduled_time?: string;
    readonly end_time?: string;
    /** On FAILED. */
    readonly code?: string;
    readonly message?: string;
  };
  readonly usage?: {
    readonly output_video_duration?: number;
    /** Of the videos that the model looked at, where they are billed too. */
    readonly input_video_duration?: number;
    readonly video_count?: number;
    readonly SR?: number;
  };
}

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

/**
 * Polls until the task is final. `UNKNOWN` is not final: a task that was just made, or whose vendor is slow to tell,
 * can still come to its end.
 */
export async function waitForTask<Task>(
  poll: () => Promise<Task>,
  options: WaitOptions,
  { clock, random }: { readonly clock: Clock; readonly random: () => number },
): Promise<Task> {
  const startedMs = clock.nowMs();
  const timeoutMs = options.timeoutMs ?? timeoutUsualMs;
  for (let polls = 1; ; polls++) {
    const task = await poll();
    const status = statusOf(task);
    const waitedMs = clock.nowMs() - startedMs;
    options.onProgress?.({ status, polls, waitedMs, task });
    if (final.has(status)) return task;
    // Without an interval of the caller's: three to five seconds, so that many waiters do not poll in step.
    const pauseMs = Math.max(pollFloorMs, options.pollEveryMs ?? pollUsualMs + pollSpreadMs * random());
    if (waitedMs + pauseMs > timeoutMs) {
      const seconds = Math.round(waitedMs / 1000);
      throw new TollgateError(`The task is ${status} after ${seconds} s; it goes on without us.`, {
        kind: "timeout",
        code: "task_not_final",
        moneyMoved: "unknown",
        body: task,
      });
    }
    await clock.sleep(pauseMs, options.signal).catch((cause: unknown) => {
      throw new TollgateError("Waiting was stopped by its caller; the task goes on.", {
        kind: "aborted",
        code: "aborted",
        moneyMoved: "unknown",
        body: task,
        cause,
      });
    });
  }
}

const final: ReadonlySet<TaskStatus> = new Set(["SUCCEEDED", "FAILED", "CANCELED"]);

const known: readonly TaskStatus[] = ["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELED", "UNKNOWN"];

const statusOf = (task: unknown): TaskStatus => {
  const status = membersOf(membersOf(task)["output"])["task_status"];
  return known.find((word) => word === status) ?? "UNKNOWN";
};
