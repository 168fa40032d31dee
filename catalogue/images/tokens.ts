// How many tokens an image takes. Vendors bill images by token, but say how many only afterwards.

import { DecidingNames, type ModelFacts } from "../../gateway/src/for-catalogues.ts";

interface AskedImage {
  readonly size?: string | null | undefined;
  readonly quality?: string | null | undefined;
  readonly output_format?: string | null | undefined;
  readonly frame_count?: number | null | undefined;
  readonly [name: string]: unknown;
}

/** For one image. */
interface ImageTokens {
  readonly usual: number;
  readonly most: number;
}

export function imageTokens(body: AskedImage, model: ModelFacts): ImageTokens {
  const isOpenAis = model.names.every(heedsQuality);
  const pixels = framesOf(body) * pixelsOf(body, isOpenAis ? pixelsMin : pixelsAuto);
  const perToken = model.names.every(isFirst) ? pixelsPerTokenFirst : pixelsPerToken;
  const asked = isOpenAis ? qualityOf(body.quality, "high") : "high";
  const worst = model.names.every(isKnown) ? asked : nextHigher[asked];
  return {
    usual: Math.ceil(pixels / perToken[qualityOf(body.quality, "medium")]),
    most: Math.ceil(pixels / perToken[worst]),
  };
}

/** OpenAI's models take fewer tokens in a lower quality. Other models may ignore `quality`, so it makes nothing cheaper there. */
const heedsQuality = (name: string): boolean => /^(?:openai\/)?(?:chat)?gpt-image-/i.test(name);

/** OpenAI's first generation takes the fewest tokens; any other model may take more. */
const isFirst = (name: string): boolean => /^(?:openai\/)?gpt-image-1(?:[.-]|$)/i.test(name);

/** The models whose figures stand below. A later one may take several times as many tokens in low quality. */
const isKnown = (name: string): boolean =>
  isFirst(name) || /^(?:openai\/)?gpt-image-2(?:\.5)?(?:-|$)/i.test(name);

/**
 * Pixels per token, by quality: low enough that no vendor bills more tokens than they give. For 1024x1024 by gpt-image-2 the
 * vendor bills 200 tokens in low, 1767 in medium and 7033 in high quality, and fewer per pixel for a larger image. Vendors that
 * bill by area alone take one token for 256 pixels, which the highest quality covers.
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
const pixelsMin = 1_024 * 1_024;
/** The largest image that a vendor chooses by itself. */
const pixelsAuto = 1_024 * 1_536;
/** The largest image that can be asked for by a name ("4K") instead of a size. */
const pixelsNamed = 4_096 * 4_096;

const qualityOf = (asked: string | null | undefined, otherwise: Quality): Quality =>
  asked === "low" || asked === "medium" || asked === "high" ? asked : otherwise;

/** How many frames a vendor draws for a GIF when nobody says. */
const framesUsual = 9;

/** Each frame of a GIF is drawn, and billed, in the size that was asked for. */
function framesOf({ output_format: format, frame_count: frames }: AskedImage): number {
  return frames ?? (format?.toLowerCase() === "gif" ? framesUsual : 1);
}

/** Other words for the size. A vendor may heed any of them, so with one of them the hold is for the largest image. */
const otherSizes = new DecidingNames(["width", "height", "image_size", "resolution"]);

/** `least` covers vendors that ignore a size they cannot draw, and draw their usual one instead. */
function pixelsOf(body: AskedImage, least: number): number {
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
