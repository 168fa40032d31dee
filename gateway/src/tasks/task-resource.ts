import type { JsonObject } from "../platform/json.ts";
import { isForgotten, statusOf } from "./task-life.ts";
import { writeTaskTime } from "./task-time.ts";
import type { Task } from "../ledger/task-record.ts";

/** The task as the specification shows it. Whatever the asker may not see looks like what never was. */
export function taskResource(
  task: Task | undefined,
  asked: { readonly taskId: string; readonly requestId: string; readonly nowMs: number },
): JsonObject {
  const status = task ? statusOf(task, asked.nowMs) : "UNKNOWN";
  const output = { task_id: asked.taskId, task_status: status };
  if (!task || isGone(task, asked.nowMs)) return { output, request_id: asked.requestId };
  const { report } = task;
  const times = {
    submit_time: writeTaskTime(report?.submitAtMs ?? task.createdAtMs),
    ...timeOf("scheduled_time", report?.scheduledAtMs),
    ...timeOf("end_time", task.endedAtMs === undefined ? undefined : (report?.endAtMs ?? task.endedAtMs)),
  };
  if (status === "FAILED") {
    const why = { code: report?.code ?? "Unknown", message: report?.message ?? "The vendor gave no reason." };
    return { output: { ...output, ...times, ...why }, request_id: asked.requestId };
  }
  if (status !== "SUCCEEDED") return { output: { ...output, ...times }, request_id: asked.requestId };
  return {
    output: {
      ...output,
      ...times,
      orig_prompt: report?.origPrompt ?? "",
      video_url: report?.videoUrl,
    },
    usage: usageOf(task),
    request_id: asked.requestId,
  };
}

/** Nothing is told about a task that was lost, refused, or whose result cannot be fetched any more. */
const isGone = (task: Task, nowMs: number): boolean =>
  task.state === "REFUSED" || task.state === "EXPIRED" || isForgotten(task, nowMs);

const timeOf = (name: string, ms: number | undefined): JsonObject =>
  ms === undefined ? {} : { [name]: writeTaskTime(ms) };

/** What the vendor left out is what the task was charged by. */
function usageOf({ report, expected }: Task): JsonObject {
  const [unit = "", seconds = 0] = Object.entries(expected)[0] ?? [];
  const inputSeconds = report?.inputSeconds ?? 0;
  return {
    output_video_duration: report?.durationSeconds ?? seconds,
    ...(inputSeconds > 0 ? { input_video_duration: inputSeconds } : {}),
    video_count: report?.videoCount ?? 1,
    SR: report?.resolution ?? Number(/\d+/.exec(unit)?.[0] ?? 0),
  };
}
