import { defineModel, defineOperation, free, z } from "../gateway/src/for-catalogues.ts";
import { higherOf, resolutionOf } from "./video/resolution.ts";
import { inputSecondsMaxOf, videoSecondsMax } from "./video/seconds.ts";

const promptCharactersMax = 20_000;
/** A larger figure is a typing error, and would be held. */
const secondsAskedMax = 600;
const secondsExpected = "expected seconds, or -1 for the vendor's choice";
const openTasksMax = 3;
/** A first frame may travel inside the body. */
const bodyBytesMax = 20 * 1024 * 1024;

const parameters = z.looseObject({
  duration: z
    .int()
    .min(-1, secondsExpected)
    .max(secondsAskedMax, `at most ${secondsAskedMax} seconds`)
    .refine((seconds) => seconds !== 0, secondsExpected)
    .nullish()
    .describe("Seconds of video; -1 leaves them to the vendor."),
  size: z.string().max(40).nullish().describe('WIDTH*HEIGHT in pixels, such as "1280*720".'),
  resolution: z.string().max(40).nullish().describe('Such as "720P".'),
});

const input = z.looseObject({
  prompt: z
    .string()
    .min(1, "must not be empty")
    .max(promptCharactersMax, `at most ${promptCharactersMax} characters`),
  // The vendor judges what these hold. They are declared because a call is held for the videos that they refer to, and a
  // declared name cannot come in other letters.
  media: z.unknown().optional().describe("What the model looks at: a list of `type` and `url`."),
  video_url: z.unknown().optional().describe("A video that the model looks at."),
  reference_urls: z.unknown().optional().describe("Addresses of what the model looks at."),
  reference_video_urls: z.unknown().optional().describe("Addresses of videos that the model looks at."),
});

/** Only what is priced or decided here is checked; every other member travels to the upstream untouched. */
const synthesisBody = z.looseObject({
  model: z.string().min(1).max(200),
  input,
  parameters: parameters.nullish(),
});

const moment = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}$/)
  .describe("YYYY-MM-DD HH:MM:SS.mmm, UTC.");

const newTask = z
  .object({
    output: z.object({ task_id: z.string(), task_status: z.enum(["PENDING", "RUNNING"]) }),
    request_id: z.string(),
  })
  .meta({ id: "NewTask" });

const task = z
  .object({
    output: z.object({
      task_id: z.string(),
      task_status: z.enum(["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELED", "UNKNOWN"]),
      submit_time: moment.optional(),
      scheduled_time: moment.optional(),
      end_time: moment.optional(),
      video_url: z.string().optional().describe("On SUCCEEDED; works for a few hours."),
      orig_prompt: z.string().optional().describe("On SUCCEEDED."),
      code: z
        .string()
        .optional()
        .describe("On FAILED, the vendor's word; `provider_unavailable` where it is about the operator."),
      message: z.string().optional().describe("On FAILED."),
    }),
    usage: z
      .object({
        output_video_duration: z.number().describe("Seconds."),
        input_video_duration: z
          .number()
          .optional()
          .describe("Seconds of the videos that the model looked at, where they are billed too."),
        video_count: z.int(),
        SR: z.int().describe("The resolution's figure, such as 720."),
      })
      .optional()
      .describe("On SUCCEEDED."),
    request_id: z.string(),
  })
  .meta({ id: "Task" });

const params = { task_id: "The `output.task_id` of the call that created the task." };

export const videoSynthesisCreate = defineOperation({
  id: "video.synthesis.create",
  title: "Create a video",
  summary: "Begins to make a video from a description; the answer is a task to ask about until it has ended.",
  keywords: ["text to video", "prompt", "clip"],
  category: "models",
  method: "POST",
  path: "/apis/v1/services/aigc/video-generation/video-synthesis",
  headers: {
    "X-{provider}-Async": {
      description: "Confirms that you expect a task as the answer, not a video.",
      required: true,
      values: ["enable"],
    },
  },
  body: synthesisBody,
  bodyBytesMax,
  // The vendor looks at pictures in the body before it gives an id, and a call that is given up stays held for a day.
  firstByteTimeoutMs: 120_000,
  notes:
    "What the video can cost is held until its task has ended, and charged once, by the seconds and resolution that were made (the nearest whole number of seconds, at least one); where the vendor bills the videos that `input` refers to, their seconds count too. The same `Idempotency-Key` and body answer again with the same task.",
  response: newTask,
  example: {
    headers: { "X-{provider}-Async": "enable" },
    body: {
      model: "wan2.6-t2v",
      input: { prompt: "A red fox in the snow." },
      parameters: { size: "1280*720", duration: 5 },
    },
    response: {
      output: { task_id: "6f1c7c5e-2f1f-4c53-9d0a-0f4a3b1c9d21", task_status: "PENDING" },
      request_id: "019a8f04-5a0c-7000-8000-1f2e3d4c5b6a",
    },
  },
  price: {
    kind: "per_second",
    modelKind: "video",
    secondsMax: videoSecondsMax,
    requested: ({ body: { input: given, parameters: asked } }) => ({
      inputSecondsMax: inputSecondsMaxOf(given),
      seconds: asked?.duration === -1 ? "any" : (asked?.duration ?? undefined),
      resolution: higherOf(resolutionOf(asked?.resolution), resolutionOf(asked?.size)),
    }),
  },
  // A second creation is a second video: it goes elsewhere only if it never left, or the key was refused.
  repeatable: false,
  task: { openMax: openTasksMax },
  servedBy: {
    dashscope: {
      exchange: "video_create",
      path: "/services/aigc/video-generation/video-synthesis",
      tasksPath: "/tasks",
    },
  },
});

export const tasksGet = defineOperation({
  id: "tasks.get",
  title: "Ask about a task",
  summary: "How far a task of your account has come, and its result for as long as it can be fetched.",
  keywords: ["status", "progress", "ready", "video status", "poll"],
  category: "models",
  method: "GET",
  path: "/apis/v1/services/aigc/tasks/{task_id}",
  unsupportedPath: "/apis/v1/services/aigc/tasks",
  params,
  notes:
    "Ask every three to five seconds, never more than twice a second, until SUCCEEDED, FAILED or CANCELED. UNKNOWN is not final: it is also what an unknown, foreign or expired id gets. An id in the query string is 500 `unsupported uri`.",
  response: task,
  refuses: ["unsupported_uri"],
  price: free,
  aboutTask: "state",
});

export const tasksCancel = defineOperation({
  id: "tasks.cancel",
  title: "Cancel a task",
  summary: "Asks the vendor to stop a task that is still waiting; what was made by then may be billed.",
  keywords: ["abort", "stop a video"],
  category: "models",
  method: "POST",
  path: "/apis/v1/services/aigc/tasks/{task_id}/cancel",
  params,
  response: task,
  price: free,
  aboutTask: "cancel",
});

// Prices as third parties list them for the vendor's international site; the operator's to set. A request that says nothing
// gets five seconds in 1080P.

export const wan26TextToVideo = defineModel({
  id: "wan2.6-t2v",
  kind: "video",
  protocols: ["dashscope"],
  price: { second_720p: "0.1", second_1080p: "0.15" },
  usualVideo: { seconds: 5, resolution: 1080 },
});

export const wan26ImageToVideo = defineModel({
  id: "wan2.6-i2v",
  kind: "video",
  protocols: ["dashscope"],
  price: { second_720p: "0.1", second_1080p: "0.15" },
  usualVideo: { seconds: 5, resolution: 1080 },
});
