import type { JsonObject } from "../../../platform/json.ts";
import { instructionsFirst } from "../added-instructions.ts";
import type { ChatRequest } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { writeGeneration } from "./generation-config.ts";
import { writeTools } from "./tools.ts";
import { writeContents } from "./write-contents.ts";

/** Who the end user is and what to cache are hints that Google takes no part in; they are left out. */
export function writeRequest(asked: ChatRequest): JsonObject {
  const request = { ...asked, ...instructionsFirst(asked) };
  if (request.parallelToolCalls === false && request.tools.length > 0 && !forcesOneTool(request)) {
    throw new Inexpressible("parallel_tool_calls", "Gemini cannot be held to one tool call at a time");
  }
  const system = request.system.filter((part) => part.text !== "").map((part) => ({ text: part.text }));
  return withoutUndefined({
    systemInstruction: system.length === 0 ? undefined : { parts: system },
    contents: writeContents(request.messages, request.model),
    ...writeTools(request),
    generationConfig: writeGeneration(request),
  });
}

/** Then there is nothing to call beside it. It is how the AI SDK asks for JSON in Anthropic's dialect. */
const forcesOneTool = ({ tools, toolChoice }: ChatRequest): boolean =>
  typeof toolChoice === "object" || (toolChoice === "required" && tools.length === 1);
