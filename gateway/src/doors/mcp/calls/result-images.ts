import type { ImageContent } from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject } from "../../../platform/json.ts";

/** What one message to an agent shows beside its JSON, in base64; ten large images of the usual model fit. */
const imageBytesMax = 32 * 1024 * 1024;

interface Taken {
  readonly result: JsonObject;
  /** Some were too large for one message. */
  readonly leftOut: boolean;
}

/**
 * Moves the images of an answer (`data[].b64_json`) from its JSON, where nobody sees them and they drown everything else,
 * to the images that the message shows. A note says in each one's place where it went.
 */
export function takeImages(result: JsonObject, images: ImageContent[]): Taken {
  const { data } = result;
  if (!Array.isArray(data)) return { result, leftOut: false };
  let leftOut = false;
  let shownBytes = bytesOf(images);
  const noted = data.map((entry: unknown): unknown => {
    const image = isJsonObject(entry) ? imageOf(entry["b64_json"]) : undefined;
    if (!image || !isJsonObject(entry)) return entry;
    const shown = shownBytes + image.data.length <= imageBytesMax;
    if (shown) {
      images.push(image);
      shownBytes += image.data.length;
    }
    leftOut ||= !shown;
    return { ...entry, b64_json: shown ? `(image ${images.length} of this answer's content)` : tooLarge };
  });
  return { result: { ...result, data: noted }, leftOut };
}

const tooLarge = "(left out: the images of one answer may have 32 MiB together)";

const bytesOf = (images: readonly ImageContent[]): number =>
  images.reduce((sum, { data }) => sum + data.length, 0);

/** How the files of each kind begin, in base64. */
const kinds = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["UklGR", "image/webp"],
  ["R0lGOD", "image/gif"],
] as const;

/** Only what is an image beyond doubt: clients refuse a whole message for one that is not base64. */
function imageOf(value: unknown): ImageContent | undefined {
  if (typeof value !== "string" || value.length % 4 !== 0 || !/^[A-Za-z\d+/]+={0,2}$/.test(value)) {
    return undefined;
  }
  const [, mimeType] = kinds.find(([begins]) => value.startsWith(begins)) ?? [];
  return mimeType === undefined ? undefined : { type: "image", data: value, mimeType };
}
