import { DecidingNames, defineOperation, refuse, z } from "../gateway/src/for-catalogues.ts";
import { checkDearer } from "./conversations/dearer-members.ts";
import { images } from "./answers/model-answers.ts";

const promptCharactersMax = 32_000;
const imagesMax = 10;
const requestsPerMinute = 30;

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
    defaultModels: ["gpt-image-1"],
    modelOf: ({ body }) => body.model ?? undefined,
    estimate: ({ body, rawBody }, model) => {
      checkDearer(body);
      const images = body.n ?? 1;
      checkCounts(body, images);
      const inputTokens = Math.ceil(Buffer.byteLength(body.prompt) / 4);
      const isOpenAis = model.names.every(heedsQuality);
      const pixels = pixelsOf(body, isOpenAis ? pixelsLeast : pixelsAuto);
      const perToken = model.names.every(isFirst) ? pixelsPerTokenFirst : pixelsPerToken;
      const usual = images * Math.ceil(pixels / perToken[qualityOf(body.quality, "medium")]);
      const worst = isOpenAis ? qualityOf(body.quality, "high") : "high";
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

/** Quality makes an image of OpenAI's cheaper; to others the word means nothing, or they never heard of it. */
const heedsQuality = (name: string): boolean => /^(?:openai\/)?(?:chat)?gpt-image-/i.test(name);

/** The generation of OpenAI's that draws with the fewest tokens; whatever else bears a number or none may take more. */
const isFirst = (name: string): boolean => /^(?:openai\/)?gpt-image-1(?:[.-]|$)/i.test(name);

/** By other words for `n` a vendor draws more images than were held for; unless they say the same. */
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
/** A vendor draws a whole series by these, as long as it likes. */
const series = new DecidingNames(["sequential_image_generation", "sequential_image_generation_options"]);

function checkCounts(body: Readonly<Record<string, unknown>>, images: number): void {
  for (const name in body) {
    otherCounts.check(name);
    series.check(name);
    const value = body[name] ?? null;
    const isSeries = series.has(name) && value !== "disabled";
    if (value === null || (!isSeries && (!otherCounts.has(name) || value === images))) continue;
    refuse("invalid_parameters", `${name}: how many images are drawn is said by n alone`, { field: name });
  }
}

/**
 * Pixels a token, by quality. What the vendor asks for an image of 1024x1024 by gpt-image-2 comes to 200 tokens in low, 1767 in
 * medium and 7033 in high quality, and to fewer a pixel for larger ones: with these divisors no figure is exceeded. Vendors
 * that bill by area alone take a token for 256 pixels, which the highest quality covers.
 */
const pixelsPerToken = { low: 3_855, medium: 593, high: 149 } as const;
/**
 * The vendor's table for gpt-image-1 (1024x1024, 1024x1536, 1536x1024) is 272, 408, 400 tokens in low, 1056, 1584, 1568 in
 * medium and 4160, 6240, 6208 in high quality.
 */
const pixelsPerTokenFirst = { low: 3_855, medium: 992, high: 252 } as const;
type Quality = keyof typeof pixelsPerToken;

/** The smallest image of these figures. */
const pixelsLeast = 1_024 * 1_024;
/** The largest image a vendor chooses by itself, and the largest one that has a name instead of a size ("4K"). */
const pixelsAuto = 1_024 * 1_536;
const pixelsNamed = 4_096 * 4_096;

const qualityOf = (asked: string | null | undefined, otherwise: Quality): Quality =>
  asked === "low" || asked === "medium" || asked === "high" ? asked : otherwise;

/** Other words for the size, of which a vendor may heed any: then it may be the largest. */
const otherSizes = new DecidingNames(["width", "height", "image_size", "resolution"]);

/** A size that a vendor cannot draw is passed over by some, and they draw what they usually do: no less is held than that. */
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
