import type { JsonObject } from "../../../platform/json.ts";
import { isThought, thoughtsIn } from "./answer-members.ts";
import { readCacheControl, withEndMarked } from "../cache-control.ts";
import { checkCallId } from "../call-id.ts";
import type { Cacheable, ChatPart, ChatRequest, TextPart } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { checkParts, readContent, readTextContent } from "./content.ts";
import { readList, readText, requireObject, requireText } from "./members.ts";
import { ArgumentsRoom, readToolCalls } from "./tool-calls.ts";

/** Instructions before the first word are the system prompt; later ones keep their place. */
export function readMessages(value: unknown): Pick<ChatRequest, "system" | "messages"> {
  const system: TextPart[] = [];
  const messages: ChatRequest["messages"][number][] = [];
  const room = new ArgumentsRoom();
  for (const [at, item] of (readList(value, "messages") ?? []).entries()) {
    const field = `messages[${at}]`;
    const message = requireObject(item, field);
    checkMembers(message, field);
    const cache = readCacheControl(message["cache_control"]);
    switch (message["role"]) {
      case "system":
      case "developer": {
        const parts = withEndMarked(readTextContent(message["content"], `${field}.content`), cache);
        if (messages.length === 0) system.push(...parts);
        else if (parts.length > 0) messages.push({ role: "system", parts });
        break;
      }
      case "user":
        messages.push({
          role: "user",
          parts: withEndMarked(readContent(message["content"], `${field}.content`), cache),
        });
        break;
      case "assistant":
        messages.push({ role: "assistant", parts: readAssistant(message, field, room, cache) });
        break;
      case "tool":
        messages.push({ role: "user", parts: [readToolResult(message, field, cache)] });
        break;
      default:
        throw new Inexpressible(`${field}.role`, `${JSON.stringify(message["role"])} cannot be translated`);
    }
  }
  return { system, messages };
}

/**
 * A `name` only tells apart who speaks: others have no place for it, and too many clients send it to refuse it. Clients of
 * Claude's models that write a content as one text mark the message to be cached instead.
 */
const understood: ReadonlySet<string> = new Set(["role", "content", "name", "tool_call_id", "cache_control"]);

/** What a model said comes back with whatever its vendor put there, and nothing of that is a wish of the caller's. */
function checkMembers(message: JsonObject, field: string): void {
  if (message["role"] === "assistant") return;
  for (const [name, value] of Object.entries(message)) {
    if (understood.has(name) || value === null) continue;
    throw new Inexpressible(`${field}.${name}`, "cannot be translated for this model; leave it out");
  }
  checkParts(message["content"], `${field}.content`);
}

function readAssistant(
  message: JsonObject,
  field: string,
  room: ArgumentsRoom,
  cache: Cacheable["cache"],
): readonly ChatPart[] {
  for (const name of ["function_call", "audio"]) {
    if (message[name] === undefined || message[name] === null) continue;
    throw new Inexpressible(`${field}.${name}`, "cannot be translated");
  }
  const thinking =
    readText(message["reasoning_content"], `${field}.reasoning_content`) || thoughtsIn(message["content"]);
  const refusal = readText(message["refusal"], `${field}.refusal`) ?? "";
  return [
    ...(thinking === "" ? [] : [{ kind: "reasoning", text: thinking } as const]),
    ...withEndMarked(readTextContent(withoutThoughts(message["content"]), `${field}.content`), cache),
    // Not OpenAI's, but how our own answers show what a model drew.
    ...readContent(message["images"], `${field}.images`),
    ...(refusal === "" ? [] : [{ kind: "text", text: refusal } as const]),
    ...readToolCalls(message["tool_calls"], `${field}.tool_calls`, room),
  ];
}

/** The others keep their places, by which they are named. */
const withoutThoughts = (content: unknown): unknown =>
  Array.isArray(content)
    ? content.map((part: unknown) => (isThought(part) ? { type: "text", text: "" } : part))
    : content;

const readToolResult = (message: JsonObject, field: string, cache: Cacheable["cache"]): ChatPart => ({
  kind: "tool_result",
  callId: checkCallId(requireText(message["tool_call_id"], `${field}.tool_call_id`), `${field}.tool_call_id`),
  name: readText(message["name"], `${field}.name`),
  content: withEndMarked(readContent(message["content"], `${field}.content`), cache),
  isError: false,
});
