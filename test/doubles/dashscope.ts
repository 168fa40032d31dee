// DashScope video: a task is created, polled and canceled. A test decides what becomes of each task;
// left alone, a task goes one state further with every poll.

import type { Answer } from "./scripted-answer.ts";
import { openVendorDouble } from "./vendor-double.ts";
import type { Handler, RecordedRequest } from "./vendor-double.ts";
import { createIds, hasBearer, hasHeader, isObject, jsonAnswer, readJsonObject } from "./vendor-checks.ts";
import type { BookEntry, BookkeepingDouble, JsonObject, JsonValue } from "./vendor-checks.ts";

interface DashScopeBilled {
  readonly taskId: string;
  readonly seconds: number;
}

type DashScopeStatus = "PENDING" | "RUNNING" | "SUSPENDED" | "SUCCEEDED" | "FAILED" | "CANCELED" | "UNKNOWN";

interface DashScopeTask {
  readonly id: string;
  readonly body: JsonObject;
  readonly status: DashScopeStatus;
  /** How often it was asked about and answered for. */
  readonly polls: number;
}

export interface DashScopeOptions {
  readonly key: string;
  /** Replaces `usage` of a success, all of it: any JSON at all, so that the vendor can lie. */
  readonly usage?: JsonValue;
  /** Whether usage is told inside `output`, as some models do. */
  readonly usageInOutput?: boolean;
  /** Members put over those of `output` in every answer to a poll. */
  readonly output?: Readonly<Record<string, JsonValue>>;
}

export interface DashScopeDouble extends BookkeepingDouble<DashScopeBilled> {
  /** In order of creation. */
  readonly tasks: () => readonly DashScopeTask[];
  /** From now on the task stands there, until moved again. */
  readonly move: (id: string, status: DashScopeStatus) => void;
}

interface KeptTask extends DashScopeTask {
  readonly moved: boolean;
}

export const openDashScopeDouble = async ({
  key,
  usage = { duration: 5, output_video_duration: 5, input_video_duration: 0, video_count: 1, SR: 720 },
  usageInOutput = false,
  output = {},
}: DashScopeOptions): Promise<DashScopeDouble> => {
  const book: BookEntry<DashScopeBilled>[] = [];
  const tasks = new Map<string, KeptTask>();
  const newRequestId = createIds("c1209113-8437-424f-a386-");
  const newTaskId = createIds("86ecf553-d340-4e21-af6e-");

  const create: Handler = (request) => {
    if (!hasHeader(request, { name: "x-dashscope-async", value: "enable" })) {
      return refuse(403, "AccessDenied", "current user api does not support synchronous calls");
    }
    const body = readJsonObject(request);
    if (typeof body === "string") return refuse(400, "InvalidParameter", body);
    const { model, input } = body;
    if (typeof model !== "string" || model === "") return refuse(400, "InvalidParameter", "Model not exist.");
    if (!isObject(input) || typeof input["prompt"] !== "string" || input["prompt"] === "") {
      return refuse(400, "InvalidParameter", "Field required: input.prompt");
    }
    if (input["prompt"].includes("forbidden")) {
      return refuse(400, "DataInspectionFailed", "Input data may contain inappropriate content.");
    }
    const id = newTaskId();
    tasks.set(id, { id, body, status: "PENDING", polls: 0, moved: false });
    return answer({ output: { task_id: id, task_status: "PENDING" } });
  };

  const poll = (id: string, request: RecordedRequest): Answer => {
    const before = tasks.get(id);
    if (before === undefined) return answer({ output: { task_id: id, task_status: "UNKNOWN" } });
    const status = before.moved ? before.status : nextStatus[before.status];
    const task = { ...before, status, polls: before.polls + 1 };
    tasks.set(id, task);
    if (status !== "SUCCEEDED") return answer({ output: { ...reportOf(task), ...output } });

    // The vendor bills a success once, however often it is read.
    if (!book.some(({ billed }) => billed.taskId === id)) {
      book.push({ requestId: null, billed: { taskId: id, seconds: 5 }, request });
    }
    return answer({
      output: { ...reportOf(task), ...output, ...(usageInOutput ? { usage } : {}) },
      ...(usageInOutput ? {} : { usage }),
    });
  };

  const cancel = (id: string): Answer => {
    const task = tasks.get(id);
    if (task?.status !== "PENDING") {
      const why = "Failed to cancel the task, please confirm if the task is in PENDING status.";
      return refuse(400, "UnsupportedOperation", why);
    }
    tasks.set(id, { ...task, status: "CANCELED", moved: true });
    return answer({});
  };

  const answer = (body: JsonObject): Answer => jsonAnswer(200, { request_id: newRequestId(), ...body });

  const refuse = (status: number, code: string, message: string): Answer =>
    jsonAnswer(status, { code, message, request_id: newRequestId() });

  const route: Handler = (request) => {
    if (!hasBearer(request, key)) return refuse(401, "InvalidApiKey", "Invalid API-key provided.");
    const asked = `${request.method} ${request.target.split("?")[0]}`;
    if (asked === "POST /api/v1/services/aigc/video-generation/video-synthesis") return create(request);
    const [, polled] = /^GET \/api\/v1\/tasks\/([^/?]+)$/.exec(asked) ?? [];
    if (polled !== undefined) return poll(decodeURIComponent(polled), request);
    const [, canceled] = /^POST \/api\/v1\/tasks\/([^/?]+)\/cancel$/.exec(asked) ?? [];
    if (canceled !== undefined) return cancel(decodeURIComponent(canceled));
    return refuse(500, "InternalError", "unsupported uri");
  };

  const double = await openVendorDouble({ basePath: "/api/v1", handlers: { "*": route } });
  return {
    ...double,
    book,
    tasks: () => [...tasks.values()],
    move: (id, status) => {
      const task = tasks.get(id);
      if (task === undefined) throw new Error(`there is no task ${id}`);
      tasks.set(id, { ...task, status, moved: true });
    },
  };
};

const nextStatus: Readonly<Record<DashScopeStatus, DashScopeStatus>> = {
  PENDING: "RUNNING",
  RUNNING: "SUCCEEDED",
  SUSPENDED: "SUSPENDED",
  SUCCEEDED: "SUCCEEDED",
  FAILED: "FAILED",
  CANCELED: "CANCELED",
  UNKNOWN: "UNKNOWN",
};

function reportOf({ id, status, body }: DashScopeTask): JsonObject {
  if (status === "UNKNOWN") return { task_id: id, task_status: status };
  const queued = status === "PENDING" || status === "SUSPENDED";
  const ended = !queued && status !== "RUNNING";
  return {
    task_id: id,
    task_status: status,
    submit_time: "2026-11-15 07:30:00.125",
    ...(queued ? {} : { scheduled_time: "2026-11-15 07:30:01.250" }),
    ...(ended ? { end_time: "2026-11-15 07:31:10.500" } : {}),
    ...(status === "SUCCEEDED" ? { orig_prompt: promptOf(body), video_url: videoUrl } : {}),
    ...(status === "FAILED" ? { code: "InternalError.Algo", message: "The video could not be made." } : {}),
  };
}

const promptOf = ({ input }: JsonObject): unknown => (isObject(input) ? input["prompt"] : undefined);

// With the characters of a signed link, which an encoder could spoil.
const videoUrl =
  "https://dashscope-result-sgp.oss.test/1d/a.mp4?Expires=1795000000&OSSAccessKeyId=LTAI&Signature=x%2By%3D";
