// One task: where it stands at a moment, what is said about it, what it costs. Pure: the moment is an argument.

import type { Billed, JsonObject } from "../../vendor.ts";
import type { Order } from "./order.ts";

export interface Task extends Order {
  readonly id: string;
  readonly submittedAtMs: number;
  /** When its owner canceled it. */
  readonly canceledAtMs: number | undefined;
  /** Already in the book. */
  readonly billed: boolean;
}

export type TaskStatus = "PENDING" | "RUNNING" | "SUCCEEDED" | "FAILED" | "CANCELED";

export function statusOf(task: Task, nowMs: number): TaskStatus {
  if (task.canceledAtMs !== undefined) return "CANCELED";
  if (nowMs < scheduledAtMs(task)) return "PENDING";
  if (nowMs < endsAtMs(task)) return "RUNNING";
  if (task.direction.ending === "canceled") return "CANCELED";
  return task.flaw === undefined && task.direction.ending === "succeeds" ? "SUCCEEDED" : "FAILED";
}

/** As the vendor answers a poll, without its request_id. */
export function reportOf(task: Task, nowMs: number, sign: SignLink): JsonObject {
  const status = statusOf(task, nowMs);
  const usage = usageOf(task, nowMs);
  return {
    output: {
      task_id: task.id,
      task_status: status,
      ...timesOf(task, nowMs),
      ...(status === "SUCCEEDED"
        ? { orig_prompt: task.prompt, video_url: sign({ name: task.id, fromMs: endsAtMs(task) }) }
        : {}),
      ...(status === "FAILED" ? failureOf(task) : {}),
    },
    ...(usage === undefined ? {} : { usage }),
  };
}

type SignLink = (link: { name: string; fromMs: number }) => string;

/** Null while nothing is billed, and for what never is. */
export function billedFor(task: Task, nowMs: number): Billed | null {
  const seconds = secondsBilled(task, nowMs);
  return seconds === 0 ? null : { [`seconds_${task.resolution}p`]: seconds };
}

function usageOf(task: Task, nowMs: number): JsonObject | undefined {
  const seconds = secondsBilled(task, nowMs);
  if (seconds === 0) return undefined;
  return {
    duration: seconds,
    input_video_duration: 0,
    output_video_duration: seconds,
    video_count: statusOf(task, nowMs) === "SUCCEEDED" ? 1 : 0,
    SR: task.resolution,
    ...(task.size === undefined ? {} : { size: task.size }),
  };
}

function secondsBilled(task: Task, nowMs: number): number {
  const status = statusOf(task, nowMs);
  if (status === "SUCCEEDED") return task.seconds;
  // Whoever cancels in time pays nothing; what the vendor itself breaks off may cost.
  return status === "CANCELED" && task.canceledAtMs === undefined ? task.direction.canceledSeconds : 0;
}

const failureOf = ({ flaw }: Task): JsonObject =>
  flaw === undefined
    ? { code: "InternalError", message: "The video could not be generated." }
    : { code: "InvalidParameter", message: flaw };

const scheduledAtMs = ({ submittedAtMs, direction }: Task): number => submittedAtMs + direction.queuedMs;

function endsAtMs(task: Task): number {
  // A flaw is found as soon as the vendor begins.
  if (task.flaw !== undefined) return scheduledAtMs(task);
  return task.direction.ending === "never" ? Infinity : scheduledAtMs(task) + task.direction.runningMs;
}

function timesOf(task: Task, nowMs: number): JsonObject {
  const submitted = { submit_time: chinaTime(task.submittedAtMs) };
  if (task.canceledAtMs !== undefined) return { ...submitted, end_time: chinaTime(task.canceledAtMs) };
  if (nowMs < scheduledAtMs(task)) return submitted;
  const scheduled = { ...submitted, scheduled_time: chinaTime(scheduledAtMs(task)) };
  return nowMs < endsAtMs(task) ? scheduled : { ...scheduled, end_time: chinaTime(endsAtMs(task)) };
}

const chinaAheadMs = 8 * 60 * 60 * 1000;

/** 2026-11-15 18:12:50.000: the vendor's clock hangs in China, which knows no summer time. */
const chinaTime = (atMs: number): string =>
  new Date(atMs + chinaAheadMs).toISOString().replace("T", " ").replace("Z", "");
