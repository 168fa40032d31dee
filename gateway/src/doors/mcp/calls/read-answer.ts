import type { ImageContent } from "@modelcontextprotocol/server";
import type { Answer } from "../../../call/call.ts";
import { isJsonObject, isNestedDeeper, type JsonObject } from "../../../platform/json.ts";
import { takeImages } from "./result-images.ts";
import { fitInto } from "./fit-result.ts";

/** What fits into an agent's context without drowning it: the result of one call, or those of a batch together. */
export const resultBytesMax = 64 * 1024;

/** No vendor nests its answers like this on purpose, and to write them again takes longer the deeper they are. */
const resultDepthMax = 500;

export interface ReadAnswer {
  readonly result: JsonObject;
  readonly truncated: boolean;
}

/**
 * An answer as one JSON object: itself, or `{value}` for other JSON, or `{text}` for anything else. Its images are added to
 * those the message shows; what is too long for an agent is shortened and stays an object.
 */
export async function readAnswer(answer: Answer, images: ImageContent[]): Promise<ReadAnswer> {
  const text = await readText(answer.body);
  // A stream is billed when it has ended, and only then is its price known.
  await answer.ended;
  const json = answer.contentType?.includes("json") === true ? parse(text) : undefined;
  const whole = json === undefined ? { text } : isJsonObject(json) ? json : { value: json };
  const { result, leftOut } = takeImages(whole, images);
  const fitting = shortenResult(result, resultBytesMax);
  return { result: fitting, truncated: leftOut || fitting !== result };
}

/** The same object when it fits. */
export const shortenResult = (result: JsonObject, bytesMax: number): JsonObject =>
  // An object stays an object, however little of it is left.
  fitInto(result, bytesMax) as JsonObject;

async function readText(body: Answer["body"]): Promise<string> {
  if (typeof body === "string") return body;
  if (body instanceof Uint8Array) return new TextDecoder().decode(body);
  const kept: Uint8Array[] = [];
  let bytes = 0;
  // Read to its end although only the beginning is kept: leaving early would change what is billed.
  await body.write({
    send: (piece) => {
      if (bytes <= resultBytesMax) kept.push(typeof piece === "string" ? Buffer.from(piece) : piece);
      bytes += piece.length;
      return undefined;
    },
  });
  // A character cut in the middle would read as a replacement sign.
  return new TextDecoder().decode(Buffer.concat(kept), { stream: true });
}

/** A number that may be too long for JavaScript, or digits in a text that look like one. */
const mayBeLong = /(?:^|[:[,\s])-?\d{16}/;
/** Looking at every number takes eight times as long, and nobody else is served meanwhile. */
const exactCharactersMax = 8 * 1024 * 1024;

function parse(text: string): unknown {
  if (isNestedDeeper(text, resultDepthMax)) return undefined;
  const exact = mayBeLong.test(text);
  if (exact && text.length > exactCharactersMax) return undefined;
  try {
    return exact ? JSON.parse(text, exactly) : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Platforms name posts and people by numbers that JavaScript cannot hold; as strings they stay what they are. */
function exactly(_name: string, value: unknown, { source = "" }: { readonly source?: string } = {}): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  return /^-?\d+$/.test(source) ? source : value;
}
