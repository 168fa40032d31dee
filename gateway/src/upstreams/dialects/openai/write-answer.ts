import type { JsonObject } from "../../../platform/json.ts";
import type { ChatAnswer, ChatPart, ToolCallPart } from "../chat.ts";
import type { WriteContext } from "../dialect.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { writeImage } from "./content.ts";
import { writeStopReason } from "./stop-reason.ts";
import { writeSignature, writeToolCall } from "./tool-calls.ts";
import { writeUsage } from "./usage.ts";

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
        finish_reason: writeStopReason(answer.stop),
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
