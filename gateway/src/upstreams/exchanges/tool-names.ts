// Every vendor refuses the names of some tools that another takes: OpenAI those of more than 64 letters, as agents make them of
// MCP servers' names, OpenAI and Anthropic those with dots, Google those that begin with a digit. One such tool would end the
// whole call. The vendor is told a name that it takes, and the caller hears its own again.

import { objectOrEmpty } from "../../platform/json.ts";
import { isSaid } from "../dialects/added-instructions.ts";
import type { ChatAnswer, ChatEvent, ChatPart, ChatRequest, TextPart } from "../dialects/chat.ts";
import type { Dialect, SpokenDialect } from "../dialects/dialect.ts";
import { checkToolName } from "../dialects/tool-name-length.ts";

/** The request with names that the vendors of this dialect take, in earlier calls and their results, too. */
export function withTakenNames(request: ChatRequest, { takenToolNames }: Dialect): ChatRequest {
  const { tools, toolChoice, messages } = request;
  const takenIn = (field: string) => (name: string) => takenName(checkToolName(name, field), takenToolNames);
  const inMessages = takenIn("messages");
  return {
    ...request,
    tools: tools.map((tool) => ({ ...tool, name: takenIn("tools")(tool.name) })),
    toolChoice:
      typeof toolChoice === "object" ? { name: takenIn("tool_choice")(toolChoice.name) } : toolChoice,
    messages: messages.map((message) =>
      isSaid(message)
        ? { ...message, parts: message.parts.map((part) => withTakenName(part, inMessages)) }
        : message,
    ),
  };
}

function withTakenName(part: ChatPart, taken: (name: string) => string): ChatPart {
  if (part.kind === "tool_call") return { ...part, name: taken(part.name) };
  if (part.kind !== "tool_result") return part;
  const { name, found } = part;
  return {
    ...part,
    ...(name === undefined ? {} : { name: taken(name) }),
    ...(found === undefined ? {} : { content: [sayFound(found.map(taken))] }),
  };
}

function sayFound(names: readonly string[]): TextPart {
  const text =
    names.length === 0 ? "No tool was found." : `These tools can be called now: ${names.join(", ")}`;
  return { kind: "text", text };
}

/** One name always becomes the same, so that a conversation stays what it was, also to a vendor's cache. */
function takenName(name: string, pattern: RegExp): string {
  if (pattern.test(name)) return name;
  const plain = name.replaceAll(/[^a-zA-Z0-9_-]/g, "_").replace(/^(?=[^a-zA-Z_])/, "_");
  const digest = new Bun.CryptoHasher("sha256").update(name).digest("hex");
  return `${plain.slice(0, namePartMax)}_${digest.slice(0, digestPart)}`;
}

/** Together, with what joins them, the 64 letters that everybody takes. */
const namePartMax = 51;
const digestPart = 12;

/** What the caller's own tools are called, by the name that the vendor was told; without those that it was told as they are. */
export type CallersNames = ReadonlyMap<string, string>;

export function callersNames(
  body: unknown,
  callers: SpokenDialect,
  { takenToolNames }: Dialect,
): CallersNames {
  const odd = callers.namesOfTools(objectOrEmpty(body)).filter((name) => !takenToolNames.test(name));
  return new Map(odd.map((name) => [takenName(name, takenToolNames), name]));
}

export const withCallersNames = (answer: ChatAnswer, names: CallersNames): ChatAnswer => ({
  ...answer,
  parts: answer.parts.map((part) => withCallersName(part, names)),
});

/** A part or an event of an answer with the name that its caller knows. */
export function withCallersName<Said extends ChatPart | ChatEvent>(said: Said, names: CallersNames): Said {
  if (said.kind !== "tool_call" || names.size === 0) return said;
  return { ...said, name: names.get(said.name) ?? said.name };
}
