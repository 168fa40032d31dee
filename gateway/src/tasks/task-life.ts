import type { Task, TaskStatus } from "../ledger/task-record.ts";
import { dayMs } from "../platform/utc-day.ts";

/** The hard limit of a task. Five minutes is a client's patience, not a verdict; after a day no vendor knows it. */
export const taskLifeMs = dayMs;

/** What a caller is told about where a task is. */
export function statusOf(task: Task, nowMs: number): TaskStatus {
  const { state } = task;
  if (isForgotten(task, nowMs)) return "UNKNOWN";
  if (state === "CREATING") return "PENDING";
  return state === "LOST" || state === "EXPIRED" || state === "REFUSED" ? "UNKNOWN" : state;
}

export const isForgotten = ({ forgetAtMs }: Task, nowMs: number): boolean =>
  forgetAtMs !== undefined && forgetAtMs <= nowMs;
