// What an answer's message or a stream's delta may hold, read leniently: vendors are taken as they come.

import { isJsonObject, listOrEmpty, type JsonObject } from "../../../platform/json.ts";
import type { ImagePart } from "../chat.ts";
import { isErrorTold } from "../dialect-errors.ts";
import { textOfArguments } from "../exact-json.ts";
import { readContent } from "./content.ts";

/** A text, or the texts of a list of parts, which some vendors answer with. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return "";
  const parts: readonly unknown[] = value;
  return parts
    .map((part) => (isJsonObject(part) && typeof part["text"] === "string" ? part["text"] : ""))
    .join("");
}

/** Thinking has no place in OpenAI's own answers; compatible vendors use either name, and Mistral thinks among what is said. */
export const thinkingOf = (message: JsonObject): string =>
  textOf(message["reasoning_content"]) || textOf(message["reasoning"]) || thoughtsIn(message["content"]);

/** What is thought in parts of the content, each of which has a list of texts in it. */
export function thoughtsIn(content: unknown): string {
  if (!Array.isArray(content)) return "";
  const parts: readonly unknown[] = content;
  return parts.map((part) => (isThought(part) ? textOf(part["thinking"]) : "")).join("");
}

export const isThought = (part: unknown): part is JsonObject =>
  isJsonObject(part) && part["type"] === "thinking";

/** Images in an answer are not OpenAI's either; routers of other vendors' models send them like this. */
export function readImages(value: unknown): readonly ImagePart[] {
  try {
    return readContent(value, "images").filter((part) => part.kind === "image");
  } catch {
    return [];
  }
}

/** The calls of a message or a delta; the old single `function_call` is one without id. */
export function callsIn(message: JsonObject): readonly JsonObject[] {
  const calls = listOrEmpty(message["tool_calls"]);
  const old = message["function_call"];
  return [...calls, ...(isJsonObject(old) ? [{ function: old }] : [])].filter(isJsonObject);
}

/**
 * What is called and with what, which is undefined where it is nested without end: some vendors give it as an object. A
 * custom tool takes free text.
 */
export function readCalled(call: JsonObject): { readonly name: string; readonly text: string | undefined } {
  const called = [call["function"], call["custom"]].find(isJsonObject) ?? {};
  const given = called["arguments"] ?? called["input"];
  return { name: textOf(called["name"]), text: isJsonObject(given) ? textOfArguments(given) : textOf(given) };
}

/** Routers of other vendors' models tell in a choice that the vendor behind them gave up; undefined when none did. */
export function choiceError(choice: unknown): unknown {
  if (!isJsonObject(choice)) return undefined;
  if (isErrorTold(choice["error"])) return choice["error"];
  return choice["finish_reason"] === "error" ? "the upstream ended its answer with an error" : undefined;
}

/** Whether one of the choices of an answer, or of an event of one, says, calls or has thought anything. */
export const hasWritten = (choices: unknown): boolean =>
  Array.isArray(choices) &&
  choices.some(
    (choice) => isJsonObject(choice) && (isWritten(choice["message"]) || isWritten(choice["delta"])),
  );

const isWritten = (message: unknown): boolean =>
  isJsonObject(message) &&
  (textOf(message["content"]) !== "" ||
    textOf(message["refusal"]) !== "" ||
    thinkingOf(message) !== "" ||
    callsIn(message).length > 0 ||
    (message["images"] ?? message["audio"] ?? null) !== null);
