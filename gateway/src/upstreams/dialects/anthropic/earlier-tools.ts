// Anthropic refuses a conversation in which tools were called when the request brings none, and agents bring none when they
// have a long one summed up. The tools of its calls are named then, and none of them may be called.

import type { ChatRequest, ToolDefinition } from "../chat.ts";
import { forcesCall } from "../forces-call.ts";

export function withEarlierTools(request: ChatRequest): ChatRequest {
  const { tools, toolChoice, messages } = request;
  if (tools.length > 0 || forcesCall(toolChoice)) return request;
  const parts = messages.flatMap((message) => message.parts);
  const names = new Set(parts.filter((part) => part.kind === "tool_call").map(({ name }) => name));
  return names.size === 0 ? request : { ...request, tools: [...names].map(toolNamed), toolChoice: "none" };
}

const toolNamed = (name: string): ToolDefinition => ({
  name,
  description: undefined,
  parameters: { type: "object" },
  strict: undefined,
  cache: undefined,
});
