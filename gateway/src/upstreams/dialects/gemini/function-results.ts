// What a tool answered. Google wants an object, where `output` holds what came out and `error` what went wrong.

import type { JsonObject } from "../../../platform/json.ts";
import type { ToolResultPart } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { shownBelow, shownFor } from "../shown-results.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { readCallId, type CallIds } from "./call-ids.ts";
import { isBeforeGemini3 } from "./gemini-version.ts";
import { readFileData, readInlineData, writeFile, writeImage } from "./media.ts";
import { elementsOf, membersOf, objectOf, textOf } from "./members.ts";
import type { Member } from "./members.ts";

export function readFunctionResponse(response: Member, calls: CallIds): ToolResultPart {
  const members = membersOf(response);
  const id = readCallId(members.take("id"));
  const name = textOf(members.take("name"));
  const { text, isError } = readOutcome(objectOf(members.take("response")) ?? {});
  const shown = elementsOf(members.take("parts")).map(readShown);
  members.take("scheduling");
  members.refuseRest();

  const callId = calls.answered({ id, name });
  if (callId === undefined) throw new Inexpressible(response.path, "answers no earlier functionCall");
  const content = text === "" ? shown : [{ kind: "text" as const, text }, ...shown];
  return { kind: "tool_result", callId, name, content, isError };
}

/** `result` is not Google's word, but its examples use it as often as `output`. */
function readOutcome(response: JsonObject): { readonly text: string; readonly isError: boolean } {
  const [first, second] = Object.entries(response);
  const wrapped = first !== undefined && second === undefined && /^(output|result|error)$/.test(first[0]);
  const value = wrapped ? first[1] : response;
  return {
    text: typeof value === "string" ? value : JSON.stringify(value),
    isError: wrapped && first[0] === "error",
  };
}

function readShown(part: Member): ToolResultPart["content"][number] {
  const members = membersOf(part);
  const inlineData = members.take("inlineData");
  const fileData = members.take("fileData");
  // It is heeded for films alone.
  members.take("mediaProcessing");
  members.refuseRest();
  if (inlineData !== undefined) return readInlineData(inlineData);
  if (fileData !== undefined) return readFileData(fileData);
  throw new Inexpressible(part.path, "has neither inlineData nor fileData");
}

export function writeFunctionResponse(result: ToolResultPart, name: string, model: string): JsonObject {
  const texts = result.content.filter((part) => part.kind === "text").map((part) => part.text);
  const shown = writeShown(result);
  const isShownHere = shown.length > 0 && !isBeforeGemini3(model);
  if (shown.length > 0 && !isShownHere) texts.push(shownBelow);
  return {
    functionResponse: withoutUndefined({
      id: result.callId,
      name,
      response: { [result.isError ? "error" : "output"]: texts.join("\n") },
      parts: isShownHere ? shown : undefined,
    }),
  };
}

/** Before Gemini 3 a result holds text only: what else there is the user shows behind all results. */
export function shownBehind(result: ToolResultPart, model: string): readonly JsonObject[] {
  const shown = isBeforeGemini3(model) ? writeShown(result) : [];
  return shown.length === 0 ? [] : [{ text: shownFor(result.callId) }, ...shown];
}

const writeShown = ({ content }: ToolResultPart): readonly JsonObject[] =>
  content.flatMap((part) => {
    if (part.kind === "text") return [];
    return part.kind === "image" ? [writeImage(part)] : [writeFile(part)];
  });
