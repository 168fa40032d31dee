// The items in which an answer is told, each as it is when it has ended. A text is told as text also where it refuses: some
// clients pass over a refusal.

import type { JsonObject } from "../../../platform/json.ts";
import type { ToolCallPart } from "../chat.ts";
import type { DeclaredTool } from "../dialect.ts";
import { sealForNextCall, sealThought, type Thought } from "./sealed-thoughts.ts";
import { readTextArgument } from "./text-tools.ts";
import { readSearched, searchType } from "./tool-search.ts";

export type ItemStatus = "in_progress" | "completed" | "incomplete";

export const writeMessage = (id: string, text: string, status: ItemStatus): JsonObject => ({
  id,
  type: "message",
  status,
  role: "assistant",
  content: [writeText(text)],
});

export const writeText = (text: string): JsonObject => ({
  type: "output_text",
  text,
  annotations: [],
  logprobs: [],
});

export const writeThought = (id: string, thought: Thought, showsSummary: boolean): JsonObject => ({
  id,
  type: "reasoning",
  summary: showsSummary && thought.text !== "" ? [writeSummary(thought.text)] : [],
  encrypted_content: sealThought(thought),
});

export const writeSummary = (text: string): JsonObject => ({ type: "summary_text", text });

/** Stands before a call and says nothing, but for what its vendor wants back with the call. */
export const writeSignature = (id: string, signature: string): JsonObject => ({
  id,
  type: "reasoning",
  summary: [],
  encrypted_content: sealForNextCall(signature),
});

export function writeCall(
  id: string,
  call: Pick<ToolCallPart, "id" | "name" | "arguments">,
  tool: DeclaredTool | undefined,
  status: ItemStatus,
): JsonObject {
  const { name = call.name, namespace } = tool ?? {};
  if (tool?.type === searchType)
    return {
      id,
      type: "tool_search_call",
      execution: "client",
      status,
      call_id: call.id,
      arguments: readSearched(call.arguments),
    };
  const named = { call_id: call.id, name, ...(namespace === undefined ? {} : { namespace }) };
  return tool?.type === "custom"
    ? { id, type: "custom_tool_call", status, ...named, input: readTextArgument(call.arguments) }
    : { id, type: "function_call", status, ...named, arguments: call.arguments };
}

export const writeDrawing = (id: string, { mimeType, base64 }: Base64): JsonObject => ({
  id,
  type: "image_generation_call",
  status: "completed",
  result: base64,
  output_format: mimeType.replace(/^image\//, ""),
});

interface Base64 {
  readonly mimeType: string;
  readonly base64: string;
}
