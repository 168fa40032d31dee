// Operations of the specification that the client already knows and the catalogue does not have yet. One that the
// catalogue has is left out here by the writer; when it has them all, this file goes.

import { z } from "zod";
import type { Offered } from "./write-operations.ts";

const task = z
  .looseObject({
    request_id: z.string().optional(),
    output: z.looseObject({
      task_id: z.string(),
      task_status: z.enum(["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELED", "UNKNOWN"]),
    }),
  })
  .meta({ id: "Task" });

const tasksPath = "/apis/v1/services/aigc/tasks/{task_id}";

export const awaitedOperations: readonly Offered[] = [
  {
    id: "video.synthesis.create",
    summary: "Begins to make a video from a description; the answer is a task to wait for.",
    query: z.unknown(),
    body: z.looseObject({ model: z.string(), input: z.looseObject({ prompt: z.string() }) }),
    response: task,
    facts: {
      method: "POST",
      path: "/apis/v1/services/aigc/video-generation/video-synthesis",
      billed: true,
      keyed: true,
      startsTask: true,
    },
    takesMore: false,
  },
  {
    id: "tasks.get",
    summary: "Where a task of the account is, and its result while it can be fetched.",
    query: z.unknown(),
    response: task,
    facts: { method: "GET", path: tasksPath, billed: false, keyed: false },
    takesMore: false,
  },
  {
    id: "tasks.cancel",
    summary: "Asks the vendor to stop a task that still waits.",
    query: z.unknown(),
    response: z.unknown(),
    facts: { method: "POST", path: `${tasksPath}/cancel`, billed: false, keyed: true },
    takesMore: false,
  },
  {
    id: "social_a.link.start",
    summary: "Begins to link a platform account to this key: the person opens `auth_url` and agrees there.",
    query: z.unknown(),
    body: z.object({ scopes: z.array(z.string()).optional() }),
    response: z.object({ auth_url: z.string(), state: z.string(), expires_at: z.string().optional() }),
    facts: { method: "POST", path: "/apis/v1/{social_a}/auth_{social_a}", billed: false, keyed: true },
    takesMore: false,
  },
  {
    id: "social_a.follow",
    summary: "Lets the linked account follow another.",
    query: z.unknown(),
    body: z.object({ target_user_id: z.string() }),
    response: z.unknown(),
    facts: { method: "POST", path: "/apis/v1/{social_a}/follow_{social_a}", billed: true, keyed: true },
    takesMore: false,
  },
];
