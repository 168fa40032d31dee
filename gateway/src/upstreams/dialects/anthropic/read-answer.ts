import { isJsonObject, listOrEmpty, objectOrEmpty, type JsonObject } from "../../../platform/json.ts";
import { readAnswerId, readAnswerModel } from "../answer-names.ts";
import type { ChatAnswer, ChatPart } from "../chat.ts";
import { textOfArguments } from "../exact-json.ts";
import { CarriedSignature } from "./signed-thoughts.ts";
import { readStopReason } from "./stop-reason.ts";
import { readUsage } from "./usage.ts";

export function readAnswer(json: unknown): ChatAnswer {
  const message = objectOrEmpty(json);
  const content = listOrEmpty(message["content"]);
  return {
    id: readAnswerId(stringOr(message["id"], undefined)),
    model: readAnswerModel(stringOr(message["model"], undefined)),
    parts: readBlocks(content.filter(isJsonObject)),
    stop: readStopReason(message["stop_reason"]),
    stopSequence: stringOr(message["stop_sequence"], undefined),
    usage: readUsage(message["usage"]),
  };
}

function readBlocks(blocks: readonly JsonObject[]): ChatPart[] {
  const carried = new CarriedSignature();
  return blocks.flatMap((block) => readBlock(block, carried));
}

/** What says nothing is left out, and so are blocks of Anthropic's own tools, for which nobody asked. */
function readBlock(block: JsonObject, carried: CarriedSignature): ChatPart[] {
  switch (block["type"]) {
    case "text": {
      const text = stringOr(block["text"], "");
      return text === "" ? [] : [{ kind: "text", text }];
    }
    case "thinking":
      return carried.thought(stringOr(block["thinking"], ""), stringOr(block["signature"], ""));
    case "redacted_thinking":
      return [{ kind: "reasoning", text: "", redacted: stringOr(block["data"], "") }];
    case "tool_use": {
      const text = textOfArguments(block["input"] ?? {});
      if (text === undefined) return [];
      return [
        {
          kind: "tool_call",
          id: stringOr(block["id"], ""),
          name: stringOr(block["name"], ""),
          arguments: text,
          ...carried.take(),
        },
      ];
    }
    default:
      return [];
  }
}

export const stringOr = <T>(value: unknown, otherwise: T): string | T =>
  typeof value === "string" ? value : otherwise;
