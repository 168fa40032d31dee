import { isJsonObject, type JsonObject } from "../../platform/json.ts";
import type { Dispatch } from "../../operation/forwarder.ts";
import { withheldReason } from "../../operation/withheld-refusal.ts";
import { isoTime } from "../../platform/clock.ts";
import { aboutOurKey, type Exchange, type Protocol } from "../protocol.ts";
import { nativeBody } from "../exchanges/native-body.ts";

/** Video tasks. The vendor's resource is nearly ours; only what differs is touched, and errors pass as they came. */
const videoCreate: Exchange = {
  request: ({ service, input }) => ({
    method: "POST",
    path: service.path,
    // Without it the vendor refuses: there is no other way to make a video.
    headers: { "x-dashscope-async": "enable" },
    body: nativeBody(input.rawBody, input.body, {}),
  }),
  // Whatever is told in place of a task with the status of a success is told as what it is.
  translates: () => true,
  hiddenFailure: refusedWith,
  read: (json) => {
    const status = refusedWith(json);
    return status === undefined ? { json: inOurWords(json) } : { error: { status, json } };
  },
};

const taskPoll: Exchange = {
  request: (dispatch) => ({ method: "GET", path: taskPathOf(dispatch) }),
  read: (json) => ({ json: inOurWords(json) }),
};

const taskCancel: Exchange = {
  request: (dispatch) => ({ method: "POST", path: `${taskPathOf(dispatch)}/cancel` }),
  read: () => ({}),
};

export const dashscope: Protocol = {
  exchanges: { video_create: videoCreate, task_poll: taskPoll, task_cancel: taskCancel },
};

/** A clear no: an error without a word of a task. What is neither leaves in doubt whether there is one. */
function refusedWith(json: unknown): number | undefined {
  if (!isJsonObject(json) || saysTask(json["output"])) return undefined;
  const { code } = json;
  return typeof code !== "string" || code === "" ? undefined : (statusOfWord(code) ?? 400);
}

/** A proxy may leave an empty output beside an error. */
const saysTask = (output: unknown): boolean =>
  isJsonObject(output) ? Boolean(output["task_id"]) || Boolean(output["task_status"]) : Boolean(output);

const statusOfWord = (code: string): number | undefined => statuses.find(([word]) => word.test(code))?.[1];

/** The vendor's words for what it says elsewhere by a status; nearly all others are about the request. */
const statuses: readonly (readonly [RegExp, number])[] = [
  [/^InvalidApiKey/i, 401],
  [/^Arrearage/i, 402],
  [/AccessDenied|^AllocationQuota/i, 403],
  [/^Throttling/i, 429],
  [/Time-?out/i, 504],
  [/^(?:InternalError|SystemError|ServiceUnavailable)/i, 503],
];

/** The id came from the vendor and goes back to it as one segment of the path, whatever stands in it. */
function taskPathOf({ service, input }: Dispatch): string {
  const { task_id: id } = input.params;
  if (id === undefined) throw new Error("A task is asked about by its id.");
  // Dots alone would climb out of the path, in any spelling; no task is called that.
  return `${service.path}/${/^\.{1,2}$/.test(id) ? "-" : encodeURIComponent(id)}`;
}

/** Undefined, so that it passes as it came, for what is no answer about a task. */
function inOurWords(json: unknown): JsonObject | undefined {
  if (!isJsonObject(json) || !isJsonObject(json["output"])) return undefined;
  const { usage: inner, ...output } = json["output"];
  // Some models of this vendor report their usage inside the output.
  const usage = json["usage"] ?? inner;
  return {
    ...json,
    output: { ...output, ...statusOf(output), ...timesOf(output), ...reasonOf(output) },
    ...(isJsonObject(usage) ? { usage: usageOf(usage) } : {}),
  };
}

/** A suspended task waits for its turn like any other. */
const statusOf = (output: JsonObject): JsonObject =>
  output["task_status"] === "SUSPENDED" ? { task_status: "PENDING" } : {};

/** Why a task failed is for its caller to know, unless it is about the operator: then it is what a call is not told either. */
function reasonOf({ task_status: status, code }: JsonObject): JsonObject {
  const meant = status === "FAILED" && typeof code === "string" ? statusOfWord(code) : undefined;
  return meant !== undefined && aboutOperator.has(meant) ? withheldReason : {};
}

const aboutOperator: ReadonlySet<number> = new Set([...aboutOurKey, 429]);

/** Models differ in what they call the seconds, and some write figures as texts. */
function usageOf(usage: JsonObject): JsonObject {
  const read: Record<string, unknown> = { ...usage };
  for (const [name, ...others] of figures) {
    const given = [name, ...others]
      .map((word) => usage[word] ?? undefined)
      .find((value) => value !== undefined);
    if (given !== undefined) read[name] = figureOf(given);
  }
  return { ...read, ...inputSecondsOf(read) };
}

const figures = [
  // `video_duration` is the word of the models before 2.6.
  ["output_video_duration", "duration", "video_duration"],
  ["input_video_duration"],
  ["video_count"],
  ["SR"],
] as const;

/**
 * Videos that a model looks at are billed beside the one it makes, and `duration` is what is billed of both: what has no
 * room in it was not.
 */
function inputSecondsOf(read: JsonObject): JsonObject {
  const { input_video_duration: input, output_video_duration: output } = read;
  const billed = figureOf(read["duration"]);
  if (typeof input !== "number" || typeof output !== "number" || typeof billed !== "number") return {};
  return { input_video_duration: Math.min(input, Math.max(0, billed - output)) };
}

/** What is no figure stays as it is, for the reader of tasks to refuse. */
const figureOf = (value: unknown): unknown =>
  typeof value === "string" && /^\d{1,9}(\.\d{1,6})?$/.test(value) ? Number(value) : value;

function timesOf(output: JsonObject): JsonObject {
  const times = ["submit_time", "scheduled_time", "end_time"].flatMap((name) => {
    const time = utcOf(output[name]);
    return time === undefined ? [] : [[name, time] as const];
  });
  return Object.fromEntries(times);
}

/** The vendor's clock hangs in China, eight hours ahead all year; ours is UTC. */
function utcOf(value: unknown): string | undefined {
  const match = typeof value === "string" ? written.exec(value) : null;
  const ms = match ? Date.parse(`${match[1]}T${match[2]}+08:00`) : Number.NaN;
  return Number.isNaN(ms) ? undefined : isoTime(ms).replace("T", " ").slice(0, -1);
}

const written = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}(?:\.\d{1,3})?)$/;
