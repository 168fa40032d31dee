// The vendor's contents read as turns: each function response is a turn of its own, thoughts are not read again.

import type { Block, Turn } from "../../model/conversation.ts";
import { isNothing, isObject, type JsonObject } from "../../vendor.ts";
import { isListOf, isText, objectOr, objectsIn } from "../checks.ts";
import { refused, type Refused } from "./errors.ts";
import { oneOrMore } from "./one-or-more.ts";

export function readContents(contents: readonly unknown[]): Turn[] | Refused {
  const turns: Turn[] = [];
  let called = 0;

  for (const [n, content] of contents.entries()) {
    const { role = "user", parts: given } = objectOr(content);
    if (role !== "user" && role !== "model" && role !== "function")
      return refused("Please use a valid role: user, model.");
    const parts = oneOrMore(given);
    if (!isListOf(parts, isObject) || parts.length === 0)
      return refused(`* GenerateContentRequest.contents[${n}].parts: contents.parts must not be empty.`);
    const read = objectsIn(parts);
    const wrong = read.findIndex((part) => !isPart(part));
    if (wrong >= 0)
      return refused(
        `* GenerateContentRequest.contents[${n}].parts[${wrong}]: required oneof field 'data' must have one initialized field`,
      );

    const answered = read.filter(({ functionResponse }) => isObject(functionResponse)).length;
    if (answered !== called && (called > 0 || answered > 0))
      return refused(
        "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
      );
    called = read.filter(({ functionCall }) => isObject(functionCall)).length;
    turns.push(...turnsOf(role === "model" ? "assistant" : "user", read));
  }
  return turns;
}

/** Parts that carry a text or an image. */
export const blocksOf = (parts: readonly JsonObject[]): Block[] =>
  parts
    .filter(({ thought }) => thought !== true)
    .flatMap(({ text, inlineData, fileData }): Block[] => {
      if (typeof text === "string") return [{ text }];
      const image = inlineData ?? fileData;
      return isNothing(image) ? [] : [{ text: "", image: JSON.stringify(image) }];
    });

function turnsOf(role: "user" | "assistant", parts: readonly JsonObject[]): Turn[] {
  const results = parts
    .filter(({ functionResponse }) => isObject(functionResponse))
    .map(({ functionResponse }) => resultTurn(objectOr(functionResponse)));
  const calls = parts
    .filter(({ functionCall }) => isObject(functionCall))
    .map(({ functionCall }) => objectOr(functionCall))
    .map(({ name, args }) => ({ name: String(name), input: args ?? {} }));
  const blocks = blocksOf(parts);
  if (blocks.length === 0 && calls.length === 0) return results;
  return [...results, { role, blocks, calls }];
}

/** A text in a wrapping of one member counts as the text alone, as it would in another dialect. */
function resultTurn({ response }: JsonObject): Turn {
  const [only, ...others] = Object.values(objectOr(response));
  const text = typeof only === "string" && others.length === 0 ? only : JSON.stringify(response);
  return { role: "tool", blocks: [{ text }], calls: [] };
}

function isPart(part: JsonObject): boolean {
  const { text, inlineData, fileData, functionCall, functionResponse } = part;
  if (typeof text === "string") return true;
  if (isObject(inlineData)) return isText(inlineData["mimeType"]) && isBase64(inlineData["data"]);
  if (isObject(fileData)) return isText(fileData["fileUri"]);
  if (isObject(functionCall)) return isText(functionCall["name"]);
  return (
    isObject(functionResponse) && isText(functionResponse["name"]) && isObject(functionResponse["response"])
  );
}

const isBase64 = (data: unknown): boolean => isText(data) && /^[\w+/-]+={0,2}$/.test(data);
