import { DecidingNames, defineOperation, refuse, z } from "../gateway/src/for-catalogues.ts";
import { checkDearer } from "./conversations/dearer-members.ts";
import { images } from "./answers/model-answers.ts";

const promptCharactersMax = 32_000;
const imagesMax = 10;
const requestsPerMinute = 30;

/** As few and as many as a vendor moves in one image, and as many as it takes when nobody says. */
const framesMin = 2;
const framesMax = 16;
const framesUsual = 9;

const writtenImages = "what writes an SVG is billed beside the image, and has no price here";
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
  output_format: z.string().max(40).refine(isDrawn, writtenImages).nullish().describe("Any but SVG."),
  frame_count: z.int().min(framesMin).max(framesMax).nullish().describe("Frames of a GIF, each of the size."),
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
      const inputTokens = Math.ceil(Buffer.byteLength(body.prompt) / 4);
      const isOpenAis = model.names.every(heedsQuality);
      const pixels = framesOf(body) * pixelsOf(body, isOpenAis ? pixelsLeast : pixelsAuto);
      const perToken = model.names.every(isFirst) ? pixelsPerTokenFirst : pixelsPerToken;
      const usual = images * Math.ceil(pixels / perToken[qualityOf(body.quality, "medium")]);
      const asked = isOpenAis ? qualityOf(body.quality, "high") : "high";
      const worst = model.names.every(isKnown) ? asked : nextHigher[asked];
      const most = images * Math.ceil(pixels / perToken[worst]);
      return {
        expected: { input_tokens: inputTokens, output_tokens: usual },
        tokens: inputTokens + most,
        atMost: { input_tokens: rawBody.byteLength, output_tokens: most },
      };
    },
  },
  servedBy: { openai: { exchange: "images", path: "/images/generations" } },
});

/** OpenAI's models draw cheaper in a lower quality. Other models may not know the word, so it makes nothing cheaper for them. */
const heedsQuality = (name: string): boolean => /^(?:openai\/)?(?:chat)?gpt-image-/i.test(name);

/** OpenAI's first generation, which draws with the fewest tokens. Any other model may take more. */
const isFirst = (name: string): boolean => /^(?:openai\/)?gpt-image-1(?:[.-]|$)/i.test(name);

/** Those whose figures are below. A later one draws in low quality with several times the tokens of the one before. */
const isKnown = (name: string): boolean =>
  isFirst(name) || /^(?:openai\/)?gpt-image-2(?:\.5)?(?:-|$)/i.test(name);

/** Other words for `n`. A vendor that heeds one of them may draw more images than are held for, unless it says the same as `n`. */
const otherCounts = new DecidingNames([
  "max_images",
  "num_images",
  "num_images_per_prompt",
  "num_outputs",
  "number_of_images",
  "numberOfImages",
  "image_count",
  "sample_count",
  "sampleCount",
  "samples",
  "batch_size",
]);
/** These ask for a whole series, as long as the vendor likes. */
const series = new DecidingNames(["sequential_image_generation", "sequential_image_generation_options"]);

function checkCounts(body: Readonly<Record<string, unknown>>, images: number): void {
  for (const name in body) {
    otherCounts.check(name);
    series.check(name);
    const value = body[name] ?? null;
    if (value === null) continue;
    const asksForSeries = series.has(name) && value !== "disabled";
    const asksForOthers = otherCounts.has(name) && value !== images;
    if (asksForSeries || asksForOthers) {
      refuse("invalid_parameters", `${name}: how many images are drawn is said by n alone`, { field: name });
    }
  }
}

/**
 * Pixels a token, by quality. For 1024x1024 by gpt-image-2 the vendor asks as much as for 200 tokens in low, 1767 in medium and
 * 7033 in high quality; a larger image takes fewer a pixel. With these divisors at least as much is held as the vendor takes.
 * Vendors that bill by area alone take a token for 256 pixels, which the highest quality covers.
 */
const pixelsPerToken = { low: 3_855, medium: 593, high: 149 } as const;
/**
 * The vendor's table for gpt-image-1 (1024x1024, 1024x1536, 1536x1024) is 272, 408, 400 tokens in low, 1056, 1584, 1568 in
 * medium and 4160, 6240, 6208 in high quality.
 */
const pixelsPerTokenFirst = { low: 3_855, medium: 992, high: 252 } as const;
type Quality = keyof typeof pixelsPerToken;
const nextHigher: Readonly<Record<Quality, Quality>> = { low: "medium", medium: "high", high: "high" };

/** The smallest image in the vendor's tables. */
const pixelsLeast = 1_024 * 1_024;
/** The largest image that a vendor chooses by itself. */
const pixelsAuto = 1_024 * 1_536;
/** The largest one that has a name ("4K") instead of a size. */
const pixelsNamed = 4_096 * 4_096;

const qualityOf = (asked: string | null | undefined, otherwise: Quality): Quality =>
  asked === "low" || asked === "medium" || asked === "high" ? asked : otherwise;

/** The frames of a moving image are drawn side by side, each in the size that was asked for. */
function framesOf({ output_format: format, frame_count: frames }: z.infer<typeof imagesBody>): number {
  return frames ?? (format?.toLowerCase() === "gif" ? framesUsual : 1);
}

/** Other words for the size. A vendor may heed any of them, so the largest image is held for. */
const otherSizes = new DecidingNames(["width", "height", "image_size", "resolution"]);

/** Some vendors pass over a size that they cannot draw, and draw their usual one: `least` is what that takes. */
function pixelsOf(body: z.infer<typeof imagesBody>, least: number): number {
  for (const name in body) {
    otherSizes.check(name);
    if (otherSizes.has(name) && (body[name] ?? null) !== null) return pixelsNamed;
  }
  const { size } = body;
  if ((size ?? "auto") === "auto") return pixelsAuto;
  const [, width, height] = /^(\d{1,5})x(\d{1,5})$/.exec(size ?? "") ?? [];
  if (width === undefined || height === undefined) return pixelsNamed;
  return Math.max(least, Number(width) * Number(height));
}
