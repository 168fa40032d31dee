import { isJsonObject, type JsonObject } from "../platform/json.ts";
import { taskStatuses, type TaskState } from "../ledger/task-record.ts";
import { readTaskTime } from "./task-time.ts";

/** What a vendor says about a task. Only `state` is a word of the vendor's; everything else is silence. */
export type TaskReport = TaskState | { readonly kind: "no_verdict" };

const noVerdict: TaskReport = { kind: "no_verdict" };

/**
 * Reads a 2xx answer about a task, already in the shape of our own resource: `output.task_id`, `output.task_status`,
 * `output.*_time` in UTC, `usage.output_video_duration`, `usage.input_video_duration`, `usage.video_count`, `usage.SR`.
 * Whatever is not a clear statement about the very task that was asked about (`asked`; undefined for a creation) is no
 * verdict.
 */
export function readTaskReport(json: unknown, asked?: string): TaskReport {
  const output = isJsonObject(json) ? json["output"] : undefined;
  if (!isJsonObject(json) || !isJsonObject(output)) return noVerdict;
  const usage = isJsonObject(json["usage"]) ? json["usage"] : {};
  const upstreamTaskId = textOf(output, "task_id");
  const status = taskStatuses.find((word) => word === output["task_status"]);
  if (upstreamTaskId === undefined || upstreamTaskId.length > idLengthMax || !status) return noVerdict;
  if (asked !== undefined && asked !== upstreamTaskId) return noVerdict;
  const videoUrl = readUrl(output["video_url"]);
  if (status === "SUCCEEDED" && videoUrl === undefined) return noVerdict;
  return {
    kind: "state",
    status,
    upstreamTaskId,
    videoUrl,
    origPrompt: textOf(output, "orig_prompt"),
    durationSeconds: amountOf(usage, "output_video_duration"),
    inputSeconds: amountOf(usage, "input_video_duration"),
    resolution: amountOf(usage, "SR"),
    videoCount: amountOf(usage, "video_count"),
    submitAtMs: readTaskTime(output["submit_time"]),
    scheduledAtMs: readTaskTime(output["scheduled_time"]),
    endAtMs: readTaskTime(output["end_time"]),
    code: textOf(output, "code"),
    message: textOf(output, "message"),
  };
}

/** No vendor's id is longer; a longer one would only fill the books. */
const idLengthMax = 256;
const urlLengthMax = 8192;

/** People open this link: anything but a web address could be a script. */
function readUrl(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > urlLengthMax) return undefined;
  const url = URL.parse(value);
  return url?.protocol === "https:" || url?.protocol === "http:" ? value : undefined;
}

const textOf = (from: JsonObject, name: string): string | undefined => {
  const value = from[name];
  return typeof value === "string" && value !== "" ? value : undefined;
};

/** More of anything is an error of the vendor's: no video lasts a day. */
const amountMax = 100_000;

const amountOf = (from: JsonObject, name: string): number | undefined => {
  const value = from[name];
  return typeof value === "number" && value >= 0 && value <= amountMax ? value : undefined;
};
