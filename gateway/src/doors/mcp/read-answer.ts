import type { Answer } from "../../call/call.ts";
import { isJsonObject, isNestedDeeper, type JsonObject } from "../../platform/json.ts";

/** What fits into an agent's context without drowning it. */
const resultBytesMax = 64 * 1024;

/** No vendor nests its answers like this on purpose, and to write them again takes longer the deeper they are. */
const resultDepthMax = 500;

export interface ReadAnswer {
  readonly result: JsonObject;
  readonly truncated: boolean;
}

/** An answer as one JSON object: itself, or `{value}` for other JSON, or `{text}` for anything else. */
export async function readAnswer(answer: Answer): Promise<ReadAnswer> {
  const { text, complete } = await readText(answer.body);
  // A stream is billed when it has ended, and only then is its price known.
  await answer.ended;
  if (!complete) return { result: { text }, truncated: true };
  const json = answer.contentType?.includes("json") === true ? parse(text) : undefined;
  if (json === undefined) return { result: { text }, truncated: false };
  return { result: isJsonObject(json) ? json : { value: json }, truncated: false };
}

interface Read {
  readonly text: string;
  readonly complete: boolean;
}

async function readText(body: Answer["body"]): Promise<Read> {
  if (typeof body === "string") return shorten(new TextEncoder().encode(body));
  if (body instanceof Uint8Array) return shorten(body);
  const kept: Uint8Array[] = [];
  let bytes = 0;
  // Read to its end although only the beginning is kept: leaving early would change what is billed.
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    if (bytes <= resultBytesMax) kept.push(chunk);
    bytes += chunk.byteLength;
  }
  return shorten(Buffer.concat(kept));
}

function shorten(bytes: Uint8Array): Read {
  const complete = bytes.byteLength <= resultBytesMax;
  const shown = complete ? bytes : bytes.subarray(0, resultBytesMax);
  // A character cut in the middle would read as a replacement sign.
  const text = new TextDecoder().decode(shown, { stream: !complete });
  return { text, complete };
}

function parse(text: string): unknown {
  if (isNestedDeeper(text, resultDepthMax)) return undefined;
  try {
    return JSON.parse(text, exactly);
  } catch {
    return undefined;
  }
}

/** Platforms name posts and people by numbers that JavaScript cannot hold; as strings they stay what they are. */
function exactly(_name: string, value: unknown, { source = "" }: { readonly source?: string } = {}): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  return /^-?\d+$/.test(source) ? source : value;
}
