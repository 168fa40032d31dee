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
 * Where answers have the images that a model made, and what of the text there is the image: of a model that draws only, of
 * Gemini's and OpenAI's that converse, and of those in the other dialects that they are translated into.
 */
const places: readonly { readonly path: readonly string[]; readonly drawn: RegExp }[] = [
  { path: ["data", "b64_json"], drawn: /^.+$/ },
  { path: ["candidates", "content", "parts", "inlineData", "data"], drawn: /^.+$/ },
  { path: ["output", "result"], drawn: /^.+$/ },
  { path: ["choices", "message", "images", "image_url", "url"], drawn: /^data:[^,]*;base64,.+$/ },
  // Each part stops where another image could begin, so that a text full of beginnings is read once.
  { path: ["content", "text"], drawn: /(?<=!\[image\]\()data:[\w/+.-]*;base64,[A-Za-z\d+/]+={0,2}(?=\))/g },
];

/**
 * Moves the images of an answer from its JSON, where nobody sees them and they drown everything else, to the images that the
 * message shows. A note says in each one's place where it went.
 */
export function takeImages(result: JsonObject, images: ImageContent[]): Taken {
  let leftOut = false;
  let shownBytes = bytesOf(images);
  const noteOf = (drawn: string): string => {
    const image = imageOf(drawn.slice(drawn.lastIndexOf(",") + 1));
    if (!image) return drawn;
    const shown = shownBytes + image.data.length <= imageBytesMax;
    leftOut ||= !shown;
    if (!shown) return tooLarge;
    shownBytes += image.data.length;
    return `(image ${images.push(image)} of this answer's content)`;
  };
  let noted: unknown = result;
  for (const { path, drawn } of places) noted = replaceAt(noted, path, (text) => text.replace(drawn, noteOf));
  // What is replaced lies deeper, so an object stays an object.
  return { result: noted as JsonObject, leftOut };
}

/** The same value with other texts at the end of a path, which leads through every element of the lists on its way. */
function replaceAt(
  value: unknown,
  [name, ...path]: readonly string[],
  replace: (text: string) => string,
): unknown {
  if (name === undefined) return typeof value === "string" ? replace(value) : value;
  if (Array.isArray(value)) return value.map((entry) => replaceAt(entry, [name, ...path], replace));
  if (!isJsonObject(value) || value[name] === undefined) return value;
  return { ...value, [name]: replaceAt(value[name], path, replace) };
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
function imageOf(value: string): ImageContent | undefined {
  if (value.length % 4 !== 0 || !/^[A-Za-z\d+/]+={0,2}$/.test(value)) return undefined;
  const [, mimeType] = kinds.find(([begins]) => value.startsWith(begins)) ?? [];
  return mimeType === undefined ? undefined : { type: "image", data: value, mimeType };
}
