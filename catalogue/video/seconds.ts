import { isJsonObject } from "../../gateway/src/for-catalogues.ts";

/** The longest video the models make; also what is held when the length is left to the vendor. */
export const videoSecondsMax = 15;

interface VideoInput {
  readonly media?: unknown;
  readonly video_url?: unknown;
  readonly reference_urls?: unknown;
  readonly reference_video_urls?: unknown;
}

/**
 * The most seconds that are billed for all the videos a request refers to. The models of 2.6 take lists of addresses and bill
 * five seconds of them; later models take videos as media, fifteen seconds long at most.
 */
export function inputSecondsMaxOf(given: VideoInput): number {
  const { media, video_url: videoUrl } = given;
  if (Array.isArray(media) && media.some(isVideo)) return videoSecondsMax;
  if (typeof videoUrl === "string") return videoSecondsMax;
  const lists = [given.reference_video_urls, given.reference_urls];
  return lists.some((list) => Array.isArray(list) && list.length > 0) ? listedSecondsMax : 0;
}

const listedSecondsMax = 5;
const videoTypes: ReadonlySet<string> = new Set(["reference_video", "first_clip", "video"]);

/** Compared without case, as the vendor may do. */
const isVideo = (medium: unknown): boolean =>
  isJsonObject(medium) &&
  Object.entries(medium).some(
    ([name, value]) => name.toLowerCase() === "type" && videoTypes.has(String(value).toLowerCase()),
  );
