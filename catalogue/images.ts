import { defineOperation, guessTokens, z } from "../gateway/src/for-catalogues.ts";
import { images } from "./answers/model-answers.ts";
import { checkDearer } from "./conversations/dearer-members.ts";
import { checkCounts } from "./images/counts.ts";
import { imageTokens } from "./images/tokens.ts";

const promptCharactersMax = 32_000;
const imagesMax = 10;
const requestsPerMinute = 30;

/** The fewest and the most frames that a vendor draws for a GIF. */
const framesMin = 2;
const framesMax = 16;

const writtenImages = "a model that writes an SVG is billed beside the image, and has no price here";
const isDrawn = (format: string): boolean => format.toLowerCase() !== "svg";

/** Only what is priced or decided here is checked; every other member travels to the upstream untouched. */
const imagesBody = z.looseObject({
  model: z
    .string()
    .min(1)
    .max(200)
    .nullish()
    .describe("Image model; the configured default serves when absent."),
  prompt: z
    .string()
    .min(1, "must not be empty")
    .max(promptCharactersMax, `at most ${promptCharactersMax} characters`),
  n: z.int().min(1).max(imagesMax, `at most ${imagesMax} images`).nullish(),
  size: z.string().max(40).nullish().describe('"auto" or WIDTHxHEIGHT in pixels.'),
  quality: z.string().max(40).nullish(),
  output_format: z.string().max(40).refine(isDrawn, writtenImages).nullish().describe("Any format but SVG."),
  frame_count: z
    .int()
    .min(framesMin)
    .max(framesMax)
    .nullish()
    .describe("How many frames a GIF has, each of the size that is asked for."),
  svg: z.null(writtenImages).optional(),
  stream: z.literal(false, "images are answered whole here, not streamed").nullish(),
});

export const imagesGenerate = defineOperation({
  id: "images.generate",
  title: "Generate images",
  summary: "Draws images from a description.",
  keywords: ["picture", "photo", "illustration", "paint", "text to image", "prompt"],
  category: "models",
  method: "POST",
  path: "/v1/images/generations",
  dialects: ["openai"],
  dialectsUnder: "/v1/images/",
  body: imagesBody,
  response: images,
  example: { body: { prompt: "A lighthouse at dusk", quality: "low", size: "1024x1024" } },
  firstByteTimeoutMs: 180_000,
  limits: { slot: "always", rpm: { group: "images", limit: requestsPerMinute } },
  price: {
    kind: "per_token",
    modelKind: "image",
    defaultModels: ["gpt-image-2"],
    modelOf: ({ body }) => body.model ?? undefined,
    estimate: ({ body, rawBody }, model) => {
      checkDearer(body);
      const images = body.n ?? 1;
      checkCounts(body, images);
      const inputTokens = guessTokens(Buffer.byteLength(body.prompt));
      const { usual, most } = imageTokens(body, model);
      return {
        expected: { input_tokens: inputTokens, output_tokens: images * usual },
        tokens: inputTokens + images * most,
        atMost: { input_tokens: rawBody.byteLength, output_tokens: images * most },
      };
    },
  },
  servedBy: { openai: { exchange: "images", path: "/images/generations" } },
});
