import type { UsageSource } from "../ledger/call-record.ts";
import type { Quantities } from "../prices/quantities.ts";
import { secondUnit } from "../operation/video-seconds.ts";
import type { TaskReport } from "./read-task-report.ts";
import { resultExpiresAtMs } from "./result-expiry.ts";
import { taskLifeMs } from "./task-life.ts";
import type { TaskNote } from "./task-book.ts";
import type { OpenState, Task, TaskEnd, TaskState } from "../ledger/task-record.ts";

/** What to write down after a task was asked about. */
export type Step =
  | { readonly kind: "end"; readonly end: TaskEnd; readonly used: Used | undefined }
  | { readonly kind: "wait"; readonly note: TaskNote };

/** What a task is charged by; without it nothing is charged. */
interface Used {
  readonly used: Quantities;
  readonly source: UsageSource;
}

interface Asked {
  /** The vendor said that it has no such task. */
  readonly missing: boolean;
  readonly nowMs: number;
  readonly random: () => number;
}

/**
 * Decides what a vendor's answer means. Only its own clear word ends a task: silence, errors, nonsense and "no such
 * task" are no verdicts, and the task is asked about again until its deadline.
 */
export function stepFor(task: Task, report: TaskReport, asked: Asked): Step {
  if (report.kind === "no_verdict") return silence(task, asked);
  switch (report.status) {
    case "SUCCEEDED":
      return end(task, { state: report.status, report, used: usedBySuccess(task, report) }, asked);
    case "FAILED":
      return end(task, { state: report.status, report, used: undefined }, asked);
    case "CANCELED":
      return end(task, { state: report.status, report, used: usedByCanceled(task, report) }, asked);
    case "UNKNOWN":
      return silence(task, { ...asked, missing: true });
    case "PENDING":
    case "RUNNING":
      return wait(task, {
        state: report.status,
        report,
        errors: 0,
        missing: 0,
        nextPollAtMs: asked.nowMs + pollAfterMs(asked.nowMs - task.createdAtMs, asked.random()),
      });
  }
}

interface Verdict {
  readonly state: TaskEnd["state"];
  readonly report: TaskState;
  readonly used: Used | undefined;
}

function end(task: Task, { state, report, used }: Verdict, { nowMs }: Asked): Step {
  const { videoUrl } = report;
  const forgetAtMs = videoUrl === undefined ? nowMs + taskLifeMs : resultExpiresAtMs(videoUrl, nowMs);
  return { kind: "end", end: { taskId: task.id, fence: task.fence, state, report, forgetAtMs }, used };
}

/** An answer that says nothing. "No such task" becomes UNKNOWN only when it was said often and not too soon. */
function silence(task: Task, { missing, nowMs, random }: Asked): Step {
  const errors = task.errors + 1;
  const missed = missing ? task.missing + 1 : 0;
  const unknown = missed >= missingMin && nowMs - task.createdAtMs > missingAfterMs;
  return wait(task, {
    state: unknown ? "UNKNOWN" : openStateOf(task),
    report: task.report,
    errors,
    missing: missed,
    nextPollAtMs: nowMs + errorWaitMs(errors, random()),
  });
}

const missingMin = 3;
const missingAfterMs = 60_000;

const wait = (task: Task, learnt: Omit<TaskNote, "taskId" | "fence">): Step => ({
  kind: "wait",
  note: { taskId: task.id, fence: task.fence, ...learnt },
});

function openStateOf({ state }: Task): OpenState {
  if (state === "PENDING" || state === "RUNNING" || state === "UNKNOWN") return state;
  throw new Error(`A task that is ${state} is not asked about.`);
}

/** In full, by what is reported; where the report is silent, by what was asked for. */
function usedBySuccess(task: Task, report: TaskState): Used {
  const [expectedUnit, expectedSeconds = 0] = Object.entries(task.expected)[0] ?? [];
  const unit =
    report.resolution === undefined && expectedUnit !== undefined
      ? expectedUnit
      : secondUnit(report.resolution, task.terms.unitPricesPico);
  const seconds = report.durationSeconds === undefined ? expectedSeconds : wholeSeconds(report);
  return {
    used: { [unit]: seconds },
    source: report.durationSeconds === undefined ? "estimated" : "provider",
  };
}

/** What the vendor reports of a cancelled task, and nothing where it reports nothing. */
function usedByCanceled(task: Task, report: TaskState): Used | undefined {
  return report.durationSeconds === undefined || wholeSeconds(report) === 0
    ? undefined
    : usedBySuccess(task, report);
}

/**
 * Seconds are sold whole: the nearest number of them, because vendors tell 5.04 of a video of 5, and at least one. Those of
 * the videos that were looked at count like those that were made, and not at all where nothing was.
 */
const wholeSeconds = ({ durationSeconds = 0, inputSeconds = 0 }: TaskState): number =>
  durationSeconds === 0 ? 0 : Math.max(1, Math.round(durationSeconds + inputSeconds));

/** Nobody asks more often than this about one task, however many are curious. */
export const pollPauseMs = 3_000;
const pollPauseMsMax = 10_000;

/** Young tasks may end any moment; old ones can wait. Jitter keeps those created together from moving in step. */
export const pollAfterMs = (ageMs: number, random: number): number =>
  Math.round(Math.min(pollPauseMsMax, Math.max(pollPauseMs, ageMs / 10)) * (1 + random / 5));

const firstErrorWaitMs = 5_000;
const errorWaitMsMax = 15 * 60_000;

/** One hiccup must not delay a video of half a minute by minutes; a vendor that stays down is left alone. */
export const errorWaitMs = (errors: number, random: number): number =>
  Math.round(Math.min(errorWaitMsMax, firstErrorWaitMs * 2 ** Math.min(errors - 1, 20)) * (1 + random / 5));
