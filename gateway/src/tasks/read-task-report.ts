import { isJsonObject, objectOrEmpty, type JsonObject } from "../platform/json.ts";
import { taskStatuses, type TaskState, type TaskStatus } from "../ledger/task-record.ts";
import { readTaskTime } from "./task-time.ts";

/** What a vendor says about a task. Only `state` is a word of the vendor's; everything else is silence. */
export type TaskReport = TaskState | { readonly kind: "no_verdict" };

const noVerdict: TaskReport = { kind: "no_verdict" };

/**
 * Reads a 2xx answer about a task, already in the shape of our own resource: `output.task_id`, `output.task_status`,
 * `output.*_time` in UTC, `usage.output_video_duration`, `usage.input_video_duration`, `usage.video_count`, `usage.SR`.
 * Whatever is not a clear statement about the very task that was asked about is no verdict.
 */
export function readTaskReport(json: unknown, asked: string): TaskReport {
  const output = outputOf(json);
  if (!isJsonObject(json) || !output) return noVerdict;
  const usage = objectOrEmpty(json["usage"]);
  const upstreamTaskId = idOf(output);
  const status = statusOf(output);
  if (upstreamTaskId !== asked || !status) return noVerdict;
  const videoUrl = readUrl(output["video_url"]);
  if (status === "SUCCEEDED" && videoUrl === undefined) return noVerdict;
  return {
    kind: "state",
    status,
    upstreamTaskId,
    videoUrl,
    origPrompt: textOf(output, "orig_prompt")?.slice(0, promptLengthMax),
    durationSeconds: amountOf(usage, "output_video_duration"),
    inputSeconds: amountOf(usage, "input_video_duration"),
    resolution: countOf(usage, "SR"),
    videoCount: countOf(usage, "video_count"),
    submitAtMs: readTaskTime(output["submit_time"]),
    scheduledAtMs: readTaskTime(output["scheduled_time"]),
    endAtMs: readTaskTime(output["end_time"]),
    code: textOf(output, "code")?.slice(0, codeLengthMax),
    message: textOf(output, "message")?.slice(0, messageLengthMax),
  };
}

/** A task that its vendor has begun, and whether it waits still. */
interface BegunWork {
  readonly upstreamTaskId: string;
  readonly state: "PENDING" | "RUNNING";
}

/**
 * Reads a 2xx answer to a creation. The id is all it takes: whatever else is said of a new task, it can be asked about,
 * and without its id the work would be done and never delivered.
 */
export function readBegunWork(json: unknown): BegunWork | undefined {
  const output = outputOf(json);
  const upstreamTaskId = output && idOf(output);
  if (!output || upstreamTaskId === undefined) return undefined;
  return { upstreamTaskId, state: statusOf(output) === "RUNNING" ? "RUNNING" : "PENDING" };
}

function outputOf(json: unknown): JsonObject | undefined {
  const output = objectOrEmpty(json)["output"];
  return isJsonObject(output) ? output : undefined;
}

const statusOf = (output: JsonObject): TaskStatus | undefined =>
  taskStatuses.find((word) => word === output["task_status"]);

/** No vendor's id is longer; a longer one would only fill the books. */
const idLengthMax = 256;

function idOf(output: JsonObject): string | undefined {
  const id = textOf(output, "task_id");
  return id !== undefined && id.length <= idLengthMax ? id : undefined;
}

const urlLengthMax = 8192;
/** What is longer is cut: nobody reads more of it, and the books keep it for ever. */
const promptLengthMax = 20_000;
const codeLengthMax = 200;
const messageLengthMax = 2_000;

/** People open this link: anything but a web address could be a script. */
function readUrl(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > urlLengthMax) return undefined;
  const url = URL.parse(value);
  return url?.protocol === "https:" || url?.protocol === "http:" ? value : undefined;
}

function textOf(from: JsonObject, name: string): string | undefined {
  const value = from[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** More of anything is an error of the vendor's: no video lasts a day. */
const amountMax = 100_000;

function amountOf(from: JsonObject, name: string): number | undefined {
  const value = from[name];
  return typeof value === "number" && value >= 0 && value <= amountMax ? value : undefined;
}

/** A video cannot be half made, nor have a resolution of zero. */
function countOf(from: JsonObject, name: string): number | undefined {
  const value = amountOf(from, name);
  return Number.isInteger(value) && value !== 0 ? value : undefined;
}
