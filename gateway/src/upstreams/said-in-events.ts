// A whole answer for a caller who asked for a stream, as the events in which its vendor should have given it.

import { isJsonObject, type JsonObject } from "../platform/json.ts";
import { failureIn, isFilled } from "./chat-failure.ts";
import { eventsOf } from "./dialects/answer-events.ts";
import type { Dialect, WriteContext } from "./dialects/dialect.ts";
import { holdsMedia, readAnswerPart } from "./dialects/gemini/read-answer-part.ts";
import type { NativeChat } from "./native-chat.ts";
import { sseText } from "./sse.ts";

/** Undefined where events would say less than the answer does: it passes as it came. */
export function saidInEvents(
  json: unknown,
  native: NativeChat,
  callers: Dialect,
  context: WriteContext,
): string | undefined {
  if (!isJsonObject(json) || !canBeSaid(json, native)) return undefined;
  // Callers of another dialect are shown no sound, whole or streamed.
  if (callers === native.dialect && holdsSound(json)) return undefined;
  // What the answer used is said too, as it is in every stream that is asked for here.
  const writer = native.dialect.createEventWriter({ ...context, includeUsage: true });
  const said = eventsOf(native.dialect.readAnswer(json)).flatMap((event) => writer.write(event));
  return [...said, ...writer.end()].map(sseText).join("");
}

/** One answer that says what it used: of events that did not say it nobody could tell, and several would become one. */
function canBeSaid(json: JsonObject, { dialect, usageOf }: NativeChat): boolean {
  if (failureIn(json) || !dialect.readUsage(usageOf(json))) return false;
  const choices = json["choices"] ?? json["candidates"];
  return Array.isArray(choices) ? choices.length === 1 : isFilled(json["content"]);
}

/** Or anything else that is no text, call or picture: our events have no place for it. */
function holdsSound({ choices, candidates }: JsonObject): boolean {
  const { message } = firstOf(choices);
  if (isJsonObject(message) && isJsonObject(message["audio"])) return true;
  const { content } = firstOf(candidates);
  const parts: unknown = isJsonObject(content) ? content["parts"] : undefined;
  return Array.isArray(parts) && parts.some((part) => holdsMedia(part) && !readAnswerPart(part, ""));
}

function firstOf(list: unknown): JsonObject {
  const first: unknown = Array.isArray(list) ? list[0] : undefined;
  return isJsonObject(first) ? first : {};
}
