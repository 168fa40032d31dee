// Parts of an answer are taken as they come: what cannot be understood is passed over.

import { isJsonObject, objectOrEmpty } from "../../../platform/json.ts";
import type { JsonObject } from "../../../platform/json.ts";
import type { ImagePart, ReasoningPart, TextPart, ToolCallPart } from "../chat.ts";
import { textOfArguments } from "../exact-json.ts";
import { plainBase64 } from "./media.ts";
import { readCallSignature, readThoughtSignature } from "./signatures.ts";

export type AnswerPart = TextPart | ImagePart | ReasoningPart | ToolCallPart;

export function readAnswerPart(part: unknown, idIfNone: string): AnswerPart | undefined {
  if (!isJsonObject(part)) return undefined;
  const { text, thought, thoughtSignature, inlineData, functionCall } = part;
  const signature = typeof thoughtSignature === "string" ? thoughtSignature : undefined;
  if (isJsonObject(functionCall)) {
    const call = readCall(functionCall, idIfNone);
    return call && { ...call, ...readCallSignature(signature) };
  }
  if (isJsonObject(inlineData)) return thought === true ? undefined : readImage(inlineData);
  if (typeof text !== "string") return undefined;
  if (thought === true) {
    const signed = readThoughtSignature(signature);
    return text === "" && Object.keys(signed).length === 0
      ? undefined
      : { kind: "reasoning", text, ...signed };
  }
  // Signatures of text are advice that Google can do without, and no other dialect has a place for them.
  return text === "" ? undefined : { kind: "text", text };
}

function readCall({ id, name, args }: JsonObject, idIfNone: string): ToolCallPart | undefined {
  const text = textOfArguments(objectOrEmpty(args));
  if (text === undefined) return undefined;
  return {
    kind: "tool_call",
    id: typeof id === "string" && id !== "" ? id : idIfNone,
    name: typeof name === "string" ? name : "",
    arguments: text,
  };
}

function readImage({ mimeType, data }: JsonObject): ImagePart | undefined {
  if (typeof mimeType !== "string" || !mimeType.startsWith("image/")) return undefined;
  if (typeof data !== "string" || data === "") return undefined;
  return { kind: "image", source: { mimeType, base64: plainBase64(data) } };
}

/**
 * Whether a part that was passed over holds what no other dialect shows: sound, a picture that was only a thought, or a call
 * that is nested without end.
 */
export function holdsUnshown(part: unknown): boolean {
  const { inlineData: media, functionCall } = objectOrEmpty(part);
  return (
    isJsonObject(functionCall) ||
    (isJsonObject(media) && typeof media["data"] === "string" && media["data"] !== "")
  );
}

/** Calls without an id get one that no other answer will have, for a caller keeps calls of many answers. */
export const madeUpCallId = (responseId: string | undefined, call: number): string =>
  responseId === undefined
    ? `call_${call}`
    : `call_${responseId.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 40)}_${call}`;
