import { defineModel } from "../gateway/src/operation/define-model.ts";
import { defineOperation, free, z } from "../gateway/src/operation/define-operation.ts";

const promptCharactersMax = 20_000;
/** The longest video the models make; also what is held when the length is left to the vendor. */
const secondsMax = 15;
/** Nobody may ask for more: a larger figure is a typing error, and it would be held. */
const secondsAskedMax = 600;
const openTasksMax = 3;
/** A first frame may travel inside the body. */
const bodyBytesMax = 20 * 1024 * 1024;

const parameters = z.looseObject({
  duration: z
    .int()
    .max(secondsAskedMax, `at most ${secondsAskedMax} seconds`)
    .refine((seconds) => seconds > 0 || seconds === -1, "expected seconds, or -1 for the vendor's choice")
    .nullish()
    .describe("Seconds of video; -1 leaves them to the vendor."),
  size: z.string().max(40).nullish().describe('WIDTH*HEIGHT in pixels, such as "1280*720".'),
  resolution: z.string().max(40).nullish().describe('Such as "720P".'),
});

/** Only what is priced or decided here is checked; every other member travels to the upstream untouched. */
const synthesisBody = z.looseObject({
  model: z.string().min(1).max(200),
  input: z.looseObject({
    prompt: z
      .string()
      .min(1, "must not be empty")
      .max(promptCharactersMax, `at most ${promptCharactersMax} characters`),
  }),
  parameters: parameters.nullish(),
});

export const videoSynthesisCreate = defineOperation({
  id: "video.synthesis.create",
  title: "Create a video",
  summary: "Begins to make a video from a description; the answer is a task to ask about until it has ended.",
  category: "models",
  method: "POST",
  path: "/apis/v1/services/aigc/video-generation/video-synthesis",
  body: synthesisBody,
  bodyBytesMax,
  price: {
    kind: "per_second",
    modelKind: "video",
    secondsMax,
    requested: ({ body: { parameters: asked } }) => ({
      seconds: asked?.duration === -1 ? secondsMax : (asked?.duration ?? undefined),
      resolution: resolutionOf(asked?.resolution ?? asked?.size ?? undefined),
    }),
  },
  // A second creation is a second video: it goes elsewhere only if it never left.
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
  summary: "Where a task of your account is, and its result while it can be fetched.",
  category: "models",
  method: "GET",
  path: "/apis/v1/services/aigc/tasks/{task_id}",
  unsupportedPath: "/apis/v1/services/aigc/tasks",
  price: free,
  aboutTask: "state",
});

export const tasksCancel = defineOperation({
  id: "tasks.cancel",
  title: "Cancel a task",
  summary: "Asks the vendor to stop a task that still waits; what it made by then may be billed.",
  category: "models",
  method: "POST",
  path: "/apis/v1/services/aigc/tasks/{task_id}/cancel",
  price: free,
  aboutTask: "cancel",
});

// List prices of the vendor's international site, the operator's to set. Left alone, these models make five seconds
// in 1080P.

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

/** The figure by which a resolution is priced: of "720P" itself, of "1280*720" the class that has so many pixels. */
function resolutionOf(written: string | undefined): number | undefined {
  const named = /^(\d{3,4})p$/i.exec(written ?? "")?.[1];
  if (named !== undefined) return Number(named);
  const [, width, height] = /^(\d{1,5})[*x](\d{1,5})$/i.exec(written ?? "") ?? [];
  if (width === undefined || height === undefined) return written === undefined ? undefined : resolutionMax;
  const pixels = Number(width) * Number(height);
  return classes.find(({ pixelsMax }) => pixels <= pixelsMax)?.resolution ?? resolutionMax;
}

/** Every shape of a class has about as many pixels as its 16:9 form; a twentieth is left for the others. */
const classes = [480, 720, 1080].map((resolution) => ({
  resolution,
  pixelsMax: resolution * Math.ceil((resolution * 16) / 9) * 1.05,
}));

/** Whatever is asked for in unknown words is held at the dearest price. */
const resolutionMax = 99_999;
