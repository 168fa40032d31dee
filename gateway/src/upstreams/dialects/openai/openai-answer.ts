import { isJsonObject, type JsonObject } from "../../../platform/json.ts";
import type { ChatAnswer, ChatPart, ToolCallPart } from "../chat.ts";
import type { WriteContext } from "../dialect.ts";
import { callsIn, readCalled, readImages, textOf, thinkingOf } from "./openai-answer-members.ts";
import { writeImage } from "./openai-content.ts";
import { readFinish, writeFinish } from "./openai-finish.ts";
import { withoutUndefined } from "./openai-members.ts";
import { madeCallId, readSignature, writeSignature, writeToolCall } from "./openai-tool-calls.ts";
import { readUsage, writeUsage } from "./openai-usage.ts";

/**
 * A translated request asks for one choice. A caller of OpenAI itself may ask for more: all are read, so that what
 * was said can be counted.
 */
export function readAnswer(json: unknown): ChatAnswer {
  const answer = isJsonObject(json) ? json : {};
  const id = textOf(answer["id"]) || undefined;
  const choices: readonly unknown[] = Array.isArray(answer["choices"]) ? answer["choices"] : [];
  const read = choices.filter(isJsonObject).map((choice) => readChoice(choice, id));
  return {
    id,
    model: textOf(answer["model"]) || undefined,
    parts: read.flatMap(({ parts }) => parts),
    stop: read[0]?.stop ?? "end",
    stopSequence: undefined,
    usage: readUsage(answer["usage"]),
  };
}

function readChoice(choice: JsonObject, id: string | undefined): Pick<ChatAnswer, "parts" | "stop"> {
  const message = isJsonObject(choice["message"]) ? choice["message"] : {};
  const refusal = textOf(message["refusal"]);
  const calls = callsIn(message).map((call, at) => readCall(call, madeCallId(id, at)));
  const parts = [
    ...saying("reasoning", thinkingOf(message)),
    ...saying("text", textOf(message["content"]) + refusal),
    ...calls,
    ...readImages(message["images"]),
  ];
  const said = { called: calls.length > 0, refused: refusal !== "" };
  return { parts, stop: readFinish(choice["finish_reason"], said) };
}

const saying = (kind: "text" | "reasoning", text: string): readonly ChatPart[] =>
  text === "" ? [] : [{ kind, text }];

function readCall(call: JsonObject, idWhenNone: string): ToolCallPart {
  const { name, text } = readCalled(call);
  const id = textOf(call["id"]) || idWhenNone;
  return { kind: "tool_call", id, name, arguments: text, ...readSignature(call) };
}

export function writeAnswer(answer: ChatAnswer, context: WriteContext): JsonObject {
  return withoutUndefined({
    id: writeId(answer.id, context),
    object: "chat.completion",
    created: context.createdSeconds,
    model: context.model,
    choices: [
      {
        index: 0,
        message: writeMessage(answer.parts),
        logprobs: null,
        finish_reason: writeFinish(answer.stop),
      },
    ],
    usage: answer.usage === undefined ? undefined : writeUsage(answer.usage),
  });
}

/** Clients tell answers of this dialect by the prefix. */
export function writeId(given: string | undefined, context: WriteContext): string {
  const id = given?.startsWith("chatcmpl-") ? given : context.id;
  return id.startsWith("chatcmpl-") ? id : `chatcmpl-${id}`;
}

function writeMessage(parts: readonly ChatPart[]): JsonObject {
  const text = joined(parts, "text");
  const thinking = joined(parts, "reasoning");
  const calls = parts.filter((part) => part.kind === "tool_call");
  const images = parts.filter((part) => part.kind === "image");
  return {
    role: "assistant",
    content: text === "" && calls.length > 0 ? null : text,
    refusal: null,
    ...(thinking === "" ? {} : { reasoning_content: thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(writeSignedCall) }),
    ...(images.length === 0 ? {} : { images: images.map(writeImage) }),
  };
}

const writeSignedCall = (call: ToolCallPart): JsonObject => ({
  ...writeToolCall(call),
  ...writeSignature(call.signature),
});

const joined = (parts: readonly ChatPart[], kind: "text" | "reasoning"): string =>
  parts.map((part) => (part.kind === kind ? part.text : "")).join("");
