import { objectOrEmpty, type JsonObject } from "../../../platform/json.ts";
import { objectIn } from "../../answers/answer-text.ts";
import { readAnswerId, readAnswerModel } from "../answer-names.ts";
import type { ChatEvent, ChatPart } from "../chat.ts";
import type { EventReader } from "../dialect.ts";
import { readItem, readStop } from "./read-answer.ts";
import { readUsage } from "./read-usage.ts";

/** Every item is numbered by itself, and its pieces with it. One that comes whole is told when it has ended. */
export function createEventReader(): EventReader {
  /** Items of which something was told. */
  const begun = new Set<number>();
  /** Calls whose arguments came in pieces. */
  const withArguments = new Set<number>();
  const kinds: Pick<ChatPart, "kind">[] = [];

  function begin(item: JsonObject, index: number): ChatEvent[] {
    const [part] = readItem(item);
    if (part?.kind !== "tool_call" || begun.has(index)) return [];
    begun.add(index);
    kinds.push(part);
    return [{ kind: "tool_call", index, id: part.id, name: part.name }];
  }

  function say(index: number, text: string): ChatEvent[] {
    if (text === "") return [];
    begun.add(index);
    return [{ kind: "text", index, text }];
  }

  function addArguments(index: number, text: string): ChatEvent[] {
    if (text === "" || !begun.has(index)) return [];
    withArguments.add(index);
    return [{ kind: "tool_arguments", index, text }];
  }
  function end(item: JsonObject, index: number): ChatEvent[] {
    const unsaid = readItem(item).flatMap((part): ChatEvent[] => {
      switch (part.kind) {
        case "text":
          return begun.has(index) ? [] : [{ kind: "text", index, text: part.text }];
        case "reasoning":
          return [{ ...part, index }];
        case "tool_call":
          return [
            ...begin(item, index),
            ...(withArguments.has(index) ? [] : addArguments(index, part.arguments)),
          ];
        default:
          return [];
      }
    });
    return [...unsaid, { kind: "part_end", index }];
  }

  function finish(response: JsonObject): ChatEvent[] {
    const usage = readUsage(response["usage"], []);
    return [
      ...(usage ? [{ kind: "usage", usage } as const] : []),
      { kind: "stop", reason: readStop(response, kinds), stopSequence: undefined },
    ];
  }

  return ({ data }) => {
    const event = objectIn(data);
    if (event === undefined) return [];
    const { type, delta, output_index: index } = event;
    const response = objectOrEmpty(event["response"]);
    const item = objectOrEmpty(event["item"]);
    const at = typeof index === "number" ? index : 0;
    const piece = typeof delta === "string" ? delta : "";
    switch (type) {
      case "response.created":
        return [
          {
            kind: "start",
            id: readAnswerId(nameOf(response["id"])),
            model: readAnswerModel(nameOf(response["model"])),
          },
        ];
      case "response.output_item.added":
        return begin(item, at);
      case "response.output_text.delta":
      case "response.refusal.delta":
        return say(at, piece);
      case "response.function_call_arguments.delta":
        return addArguments(at, piece);
      case "response.output_item.done":
        return end(item, at);
      case "response.completed":
      case "response.incomplete":
        return finish(response);
      case "response.failed":
        return [...finish(response).filter(({ kind }) => kind === "usage"), gaveUp(response)];
      case "error":
        return [gaveUp(event)];
      default:
        return [];
    }
  };
}

const nameOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** OpenAI's reference has the words at the top of the event, and others under `error`. */
function gaveUp(from: JsonObject): ChatEvent {
  const { code, message } = { ...from, ...objectOrEmpty(from["error"]) };
  return {
    kind: "error",
    type: "server_error",
    ...(typeof code === "string" ? { code } : {}),
    message: typeof message === "string" ? message : "the provider gave up",
  };
}
