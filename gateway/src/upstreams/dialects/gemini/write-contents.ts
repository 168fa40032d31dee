import type { JsonObject } from "../../../platform/json.ts";
import type { ChatMessage, ChatPart } from "../chat.ts";
import { Inexpressible } from "../dialect.ts";
import { shownBehind, writeFunctionResponse } from "./function-results.ts";
import { writeFile, writeImage } from "./media.ts";
import { signFirstCall } from "./signatures.ts";
import { writeEarlierCall, writeReasoning } from "./write-parts.ts";

interface Content {
  readonly role: "user" | "model";
  readonly parts: JsonObject[];
}

/** A content as it is gathered, with what the results in it show. */
interface Gathered extends Content {
  readonly shown: JsonObject[];
}

export function writeContents(messages: readonly ChatMessage[], model: string): readonly Content[] {
  const names = new Map<string, string>();
  const contents: Gathered[] = [];
  for (const message of messages) {
    const role = message.role === "user" ? "user" : "model";
    const parts = message.parts.flatMap((part) => writePart(part, names, model));
    if (parts.length === 0) continue;
    const shown = message.parts.flatMap((part) =>
      part.kind === "tool_result" ? shownBehind(part, model) : [],
    );
    // Google counts the results of one turn against its calls, so neighbours of one role are one content.
    const last = contents.at(-1);
    if (last?.role === role) {
      last.parts.push(...parts);
      last.shown.push(...shown);
    } else contents.push({ role, parts, shown });
  }
  return contents.flatMap(({ role, parts, shown }) =>
    role === "model" ? [{ role, parts: signFirstCall(parts, model) }] : writeUser(parts, shown),
  );
}

/** What results show is a content of its own, for Google may count its parts as results, too. */
function writeUser(parts: JsonObject[], shown: readonly JsonObject[]): readonly Content[] {
  if (shown.length === 0) return [{ role: "user", parts }];
  const isResult = (part: JsonObject): boolean => part["functionResponse"] !== undefined;
  const said = parts.filter((part) => !isResult(part));
  return [
    { role: "user", parts: parts.filter(isResult) },
    { role: "user", parts: [...shown, ...said] },
  ];
}

/** `names` collects the calls seen so far: a result must say the name of the tool it comes from. */
function writePart(part: ChatPart, names: Map<string, string>, model: string): readonly JsonObject[] {
  switch (part.kind) {
    case "text":
      return part.text === "" ? [] : [{ text: part.text }];
    case "image":
      return [writeImage(part)];
    case "file":
      return [writeFile(part)];
    case "reasoning":
      // Google signs its calls, not its thoughts: what a thought is signed or sealed with is another vendor's, which
      // Google would refuse.
      return part.text === "" ? [] : [writeReasoning({ text: part.text })];
    case "tool_call":
      names.set(part.id, part.name);
      return [writeEarlierCall(part)];
    case "tool_result": {
      const name = part.name ?? names.get(part.callId);
      if (name === undefined) {
        throw new Inexpressible("messages", `a tool result answers ${part.callId}, which no tool call has`);
      }
      return [writeFunctionResponse(part, name, model)];
    }
  }
}
