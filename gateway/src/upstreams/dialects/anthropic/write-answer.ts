import type { JsonObject } from "../../../platform/json.ts";
import type { ChatAnswer, ChatPart, StopReason } from "../chat.ts";
import type { WriteContext } from "../dialect.ts";
import { markdownImage } from "../markdown-image.ts";
import { marked } from "../marks.ts";
import { writeStopReason } from "./stop-reason.ts";
import { writeToolInput } from "../tool-input.ts";
import { writeUsage } from "./usage.ts";

export const writeAnswer = (answer: ChatAnswer, context: WriteContext): JsonObject => ({
  ...writeHead(answer.id, context),
  content: answer.parts.flatMap(writeBlock),
  ...writeStop(answer),
  usage: writeUsage(answer.usage),
});

export const writeHead = (id: string | undefined, context: WriteContext): JsonObject => ({
  id: [id, context.id].find((given) => given?.startsWith("msg_")) ?? `msg_${context.id}`,
  type: "message",
  role: "assistant",
  model: context.model,
  diagnostics: null,
});

interface Stop {
  readonly stop: StopReason;
  readonly stopSequence: string | undefined;
}

export const writeStop = (stopped: Stop | undefined): JsonObject => ({
  stop_reason: stopped === undefined ? null : writeStopReason(stopped.stop),
  stop_sequence: stopped?.stopSequence ?? null,
  stop_details: null,
  container: null,
});

function writeBlock(part: ChatPart): JsonObject[] {
  switch (part.kind) {
    case "text":
      // A client sends the answer back with its next question, and Anthropic refuses empty text there.
      return part.text === "" ? [] : [{ ...emptyText, text: part.text }];
    case "reasoning": {
      if (part.redacted !== undefined) return [redactedThinking(part.redacted)];
      const { text, signature = "" } = part;
      if (text === "" && signature === "") return [];
      return [{ ...emptyThinking, thinking: text, signature: signature === "" ? unsigned : signature }];
    }
    case "tool_call": {
      const { signature } = part;
      const called = { ...emptyToolUse(part), input: writeToolInput(part.arguments) };
      if (signature === undefined) return [called];
      return [{ ...emptyThinking, signature: marked("gemini", signature) }, called];
    }
    case "image":
      return [{ ...emptyText, text: markdownImage(part) }];
    case "file":
    case "tool_result":
      // No model answers with one.
      return [];
  }
}

export const emptyText: JsonObject = { type: "text", text: "" };
export const emptyThinking: JsonObject = { type: "thinking", thinking: "", signature: "" };
export const redactedThinking = (data: string): JsonObject => ({ type: "redacted_thinking", data });

/** Anthropic refuses an unsigned thought, and clients may take it for one that is not whole yet. */
export const unsigned = marked("unsigned");

/**
 * A call has no place for a signature here. That of a vendor who wants it back with the next turn stands in an empty
 * thought before the call: clients send thoughts back as they came.
 */
export const emptyToolUse = (call: { readonly id: string; readonly name: string }): JsonObject => ({
  type: "tool_use",
  id: call.id,
  name: call.name,
  input: {},
  caller: { type: "direct" },
});
