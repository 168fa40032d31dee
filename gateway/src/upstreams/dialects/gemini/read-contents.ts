import type { ChatMessage, ChatPart, TextPart } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { createCallIds, readCallId } from "./call-ids.ts";
import type { CallIds } from "./call-ids.ts";
import { readFunctionResponse } from "./function-results.ts";
import { checkResolution, readFileData, readInlineData } from "./media.ts";
import { joinParts } from "./join-parts.ts";
import { elementsOf, membersOf, objectOf, textOf } from "./members.ts";
import type { Member, Members } from "./members.ts";
import { readCallSignature, readThoughtSignature } from "./signatures.ts";

export function readContents(contents: Member | undefined): ChatMessage[] {
  if (contents === undefined) throw new Inexpressible("contents", "is required");
  const calls = createCallIds();
  const list = Array.isArray(contents.value) ? elementsOf(contents) : [contents];
  return joinTurns(list.map((content) => readContent(content, calls)));
}

/** Google's own client keeps every chunk of a streamed answer as a content; together they are one turn. */
function joinTurns(messages: readonly ChatMessage[]): ChatMessage[] {
  const turns: { role: ChatMessage["role"]; parts: ChatPart[] }[] = [];
  for (const { role, parts } of messages) {
    const last = turns.at(-1);
    if (role === "assistant" && last?.role === role) last.parts.push(...parts);
    else turns.push({ role, parts: [...parts] });
  }
  return turns.map((turn) => (turn.role === "assistant" ? { ...turn, parts: joinParts(turn.parts) } : turn));
}

function readContent(content: Member, calls: CallIds): ChatMessage {
  if (typeof content.value === "string") {
    return { role: "user", parts: [{ kind: "text", text: content.value }] };
  }
  const members = membersOf(content);
  const role = readRole(members.take("role"));
  const parts = elementsOf(members.take("parts")).flatMap((part) => readPart(part, calls));
  members.refuseRest();
  return { role, parts };
}

function readRole(role: Member | undefined): ChatMessage["role"] {
  switch (textOf(role)) {
    case undefined:
    case "":
    case "user":
    case "function": // results of functions had a role of their own once,
    case "tool": // and Google's own examples in Python still call it so
      return "user";
    case "model":
      return "assistant";
    default:
      throw new Inexpressible(role?.path ?? "contents", "must be user or model");
  }
}

/** One part, or none where it held only a signature of text, which no other vendor could use. */
function readPart(part: Member, calls: CallIds): ChatPart[] {
  const members = membersOf(part);
  const signature = textOf(members.take("thoughtSignature"));
  const thought = members.take("thought")?.value === true;
  for (const name of unread) members.take(name);
  checkResolution(members.take("mediaResolution"));
  const read = readData(part, members, calls);
  members.refuseRest();

  if (read.kind === "tool_call") return [{ ...read, ...readCallSignature(signature) }];
  if (read.kind !== "text") return [read];
  const signed = readThoughtSignature(signature);
  if (thought && (read.text !== "" || Object.keys(signed).length > 0)) {
    return [{ kind: "reasoning", text: read.text, ...signed }];
  }
  return read.text === "" ? [] : [read];
}

/** The caller's own notes, which no model reads, and how a film is to be looked at, which is heeded for nothing else. */
const unread = ["partMetadata", "mediaProcessing"];

function readData(part: Member, members: Members, calls: CallIds): ChatPart {
  const text = textOf(members.take("text"));
  if (text !== undefined) return { kind: "text", text };
  const inlineData = members.take("inlineData");
  if (inlineData !== undefined) return readInlineData(inlineData);
  const fileData = members.take("fileData");
  if (fileData !== undefined) return readFileData(fileData);
  const functionCall = members.take("functionCall");
  if (functionCall !== undefined) return readFunctionCall(functionCall, calls);
  const functionResponse = members.take("functionResponse");
  if (functionResponse !== undefined) return readFunctionResponse(functionResponse, calls);
  // Code that Google ran, and its result, are left; they are named before an empty part is.
  members.refuseRest();
  throw new Inexpressible(part.path, "is empty");
}

function readFunctionCall(call: Member, calls: CallIds): ChatPart {
  const members = membersOf(call);
  const id = readCallId(members.take("id"));
  const name = textOf(members.take("name"));
  const args = objectOf(members.take("args")) ?? {};
  members.refuseRest();
  if (name === undefined) throw new Inexpressible(`${call.path}.name`, "is required");
  return { kind: "tool_call", id: calls.called({ id, name }), name, arguments: JSON.stringify(args) };
}

/** Instructions come as a text, a content, a part or a list of parts. */
export function readSystem(system: Member | undefined): TextPart[] {
  if (system === undefined) return [];
  if (typeof system.value === "string") return [{ kind: "text", text: system.value }];
  if (Array.isArray(system.value)) return elementsOf(system).flatMap(readSystem);
  const members = membersOf(system);
  members.take("role");
  members.take("partMetadata");
  const parts = members.take("parts");
  const text = textOf(members.take("text"));
  members.refuseRest();
  return text === undefined ? elementsOf(parts).flatMap(readSystem) : [{ kind: "text", text }];
}
