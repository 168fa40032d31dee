// DashScope, the video vendor: a task is created, takes its time, and is asked about until it has ended.

import { createHash } from "node:crypto";
import type { ShelfFile } from "../../shelf-file.ts";
import { createShelf } from "../../shelf.ts";
import { bearerOf, type Vendor, type VendorAnswer, type VendorCall } from "../../vendor.ts";
import { error, refuse } from "./errors.ts";
import { readOrder } from "./order.ts";
import { createPollQuota } from "./poll-quota.ts";
import { billedFor, reportOf, statusOf, type Task } from "./task.ts";
import { createVideoLinks, type VideoLinks } from "./video-links.ts";

export interface DashScope extends Vendor {
  /** What the links in its answers point to. */
  readonly links: Pick<VideoLinks, "follow">;
}

export interface DashScopeOptions {
  readonly key: string;
  readonly publicUrl: string;
  readonly secret: string;
  /** How many polls a second the vendor answers. */
  readonly pollQps?: number | undefined;
  readonly file: ShelfFile | undefined;
}

// Documented, per account; a sandbox with one key has one account.
const pollQpsUsual = 20;

// Prompts are cut, so this is at most some 400 MB, and 40 MB with prompts of the usual length.
const tasksMax = 100_000;

export function createDashScope({
  key,
  publicUrl,
  secret,
  pollQps = pollQpsUsual,
  file,
}: DashScopeOptions): DashScope {
  const shelf = createShelf<Task>({ name: "dashscope", thingsMax: tasksMax, file });
  const quota = createPollQuota(pollQps);
  const links = createVideoLinks({ publicUrl, secret });
  let answers = 0;

  const answer: Vendor["answer"] = (call) => {
    answers += 1;
    const id = uuidOf(`${call.nowMs} ${answers}`);
    const { status, body, billed } = answerAs(call, id);
    return { status, body: { request_id: id, ...body }, billed };
  };

  const answerAs = (call: VendorCall, id: string): VendorAnswer => {
    const bearer = bearerOf(call.headers);
    if (bearer === undefined) return error(401, "No API-key provided.");
    if (bearer !== key) return error(401, "Invalid API-key provided.");

    if (call.path === "/services/aigc/video-generation/video-synthesis") {
      return call.method === "POST" ? create(call, id) : notAllowed;
    }
    const [, taskId, cancels] = /^\/tasks\/([^/]+)(\/cancel)?$/.exec(call.path) ?? [];
    if (taskId === undefined) return error(404, "unsupported uri");
    if (call.method !== (cancels ? "POST" : "GET")) return notAllowed;
    return cancels ? cancel(taskId, call.nowMs) : poll(taskId, call.nowMs);
  };

  const create = ({ headers, body, nowMs }: VendorCall, id: string): VendorAnswer => {
    if (headers.get("x-dashscope-async") !== "enable") {
      return error(403, "current user api does not support synchronous calls");
    }
    const order = readOrder(body);
    if ("refused" in order) return order.refused;

    const taskId = uuidOf(`task ${id}`);
    keep({ id: taskId, ...order, submittedAtMs: nowMs, canceledAtMs: undefined, billed: false }, nowMs);
    return told({ output: { task_id: taskId, task_status: "PENDING" } });
  };

  const poll = (taskId: string, nowMs: number): VendorAnswer => {
    if (!quota.admits(nowMs)) return error(429, "Requests rate limit exceeded, please try again later.");
    const task = shelf.find(taskId, nowMs);
    if (task === undefined) return told({ output: { task_id: taskId, task_status: "UNKNOWN" } });

    // The vendor bills a task once, in the book on the first answer that says so.
    const billed = task.billed ? null : billedFor(task, nowMs);
    if (billed !== null) keep({ ...task, billed: true }, nowMs);
    return { ...told(reportOf(task, nowMs, links.sign)), billed };
  };

  const cancel = (taskId: string, nowMs: number): VendorAnswer => {
    const task = shelf.find(taskId, nowMs);
    if (task === undefined || statusOf(task, nowMs) !== "PENDING") {
      return error(
        400,
        "Failed to cancel the task, please confirm if the task is in PENDING status.",
        "UnsupportedOperation",
      );
    }
    keep({ ...task, canceledAtMs: nowMs }, nowMs);
    return told({});
  };

  const keep = (task: Task, nowMs: number): void =>
    shelf.put(task.id, task, { untilMs: task.submittedAtMs + task.direction.keptMs, nowMs });

  return { answer, refuse, links };
}

const told = (body: VendorAnswer["body"]): VendorAnswer => ({ status: 200, body, billed: null });

const notAllowed = error(405, "Method Not Allowed");

const uuidOf = (text: string): string =>
  createHash("sha256")
    .update(text)
    .digest("hex")
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, "$1-$2-$3-$4-$5");
