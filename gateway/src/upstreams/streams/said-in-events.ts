// A whole answer for a caller who asked for a stream, as the events in which its vendor should have given it.

import { isJsonObject, objectOrEmpty, type JsonObject } from "../../platform/json.ts";
import { failureIn, isFilled } from "../exchanges/chat-failure.ts";
import { eventsOf } from "../dialects/answer-events.ts";
import type { Dialect, SpokenDialect, SseEvent, WriteContext } from "../dialects/dialect.ts";
import { holdsUnshown, readAnswerPart } from "../dialects/gemini/read-answer-part.ts";
import type { NativeChat } from "../exchanges/native-chat.ts";
import { sseText } from "./sse.ts";

/** Undefined where events would say less than the answer does: it passes as it came. */
export function saidInEvents(
  json: unknown,
  native: NativeChat,
  callers: SpokenDialect,
  context: WriteContext,
): string | undefined {
  if (Array.isArray(json) && native.dialect.name === "gemini") return sayChunks(json);
  if (!isJsonObject(json)) return undefined;
  const answers = answersIn(json);
  if (answers.length === 0 || answers.some(failureIn)) return undefined;
  // Callers of another dialect are shown no sound, whole or streamed, and know of one answer only.
  if (callers === native.dialect ? answers.some(holdsSound) : answers.length > 1) return undefined;
  const said = answers.map((answer, at) =>
    sayAnswer(answer, native.dialect, { ...context, choice: indexOf(answer) ?? at }),
  );
  // The last word is said once, behind all of them.
  const events = said.flatMap((each, at) => (at < said.length - 1 ? each.filter(isNotDone) : each));
  return events.map(sseText).join("");
}

/** The chunks of a stream as Google lists them for whoever does not ask for events, which a proxy may have left out. */
function sayChunks(chunks: readonly unknown[]): string | undefined {
  if (chunks.length === 0 || !chunks.every(isJsonObject)) return undefined;
  return chunks.map((chunk) => sseText({ event: undefined, data: JSON.stringify(chunk) })).join("");
}

/** One answer for each choice, of which the last says what all of them used. */
function answersIn(json: JsonObject): readonly JsonObject[] {
  const name = lists.find((list) => Array.isArray(json[list]));
  if (name === undefined) return isFilled(json["content"]) ? [json] : [];
  const choices: unknown = json[name];
  if (!Array.isArray(choices) || !choices.every(isJsonObject)) return [];
  const silent = { ...json, usage: undefined, usageMetadata: undefined };
  return choices.map((choice, at) => ({ ...(at < choices.length - 1 ? silent : json), [name]: [choice] }));
}

const lists = ["choices", "candidates"] as const;

/** What the vendor itself counts its only choice as. */
function indexOf({ choices, candidates }: JsonObject): number | undefined {
  const { index } = firstOf(choices ?? candidates);
  return typeof index === "number" ? index : undefined;
}

function sayAnswer(answer: JsonObject, dialect: Dialect, context: WriteContext): readonly SseEvent[] {
  // What the answer used is said too, as it is in every stream that is asked for here; what it does not say is not made up.
  const writer = dialect.createEventWriter({ ...context, includeUsage: true, onlyStated: true });
  const said = eventsOf(dialect.readAnswer(answer)).flatMap((event) => writer.write(event));
  return [...said, ...writer.end()];
}

const isNotDone = ({ data }: SseEvent): boolean => data !== "[DONE]";

/** Or anything else that is no text, call or picture: our events have no place for it. */
function holdsSound({ choices, candidates }: JsonObject): boolean {
  const { message } = firstOf(choices);
  if (isJsonObject(message) && isJsonObject(message["audio"])) return true;
  const { content } = firstOf(candidates);
  const parts: unknown = objectOrEmpty(content)["parts"];
  return Array.isArray(parts) && parts.some((part) => holdsUnshown(part) && !readAnswerPart(part, ""));
}

function firstOf(list: unknown): JsonObject {
  const first: unknown = Array.isArray(list) ? list[0] : undefined;
  return objectOrEmpty(first);
}
