import { objectOrEmpty, objectsIn, type JsonObject } from "../../../platform/json.ts";
import { readAnswerId, readAnswerModel } from "../answer-names.ts";
import type { ChatAnswer, ChatPart, StopReason } from "../chat.ts";
import { readUsage } from "./read-usage.ts";
import { markOpenAis } from "./sealed-thoughts.ts";

export function readAnswer(json: unknown): ChatAnswer {
  const response = objectOrEmpty(json);
  const parts = objectsIn(response["output"]).flatMap(readItem);
  return {
    id: readAnswerId(textOr(response["id"])),
    model: readAnswerModel(textOr(response["model"])),
    parts,
    stop: readStop(response, parts),
    stopSequence: undefined,
    usage: readUsage(response["usage"], []),
  };
}

/** What is of another kind is a tool of OpenAI's at work, or its thoughts where it keeps them itself. */
export function readItem(item: JsonObject): ChatPart[] {
  switch (item["type"]) {
    case "message":
      return objectsIn(item["content"])
        .map(({ text, refusal }) => textOr(text) ?? textOr(refusal) ?? "")
        .filter((text) => text !== "")
        .map((text) => ({ kind: "text", text }));
    case "reasoning": {
      const sealed = textOr(item["encrypted_content"]);
      return sealed === undefined ? [] : [{ kind: "reasoning", text: "", redacted: markOpenAis(item) }];
    }
    case "function_call":
      return [
        {
          kind: "tool_call",
          id: textOr(item["call_id"]) ?? "",
          name: textOr(item["name"]) ?? "",
          arguments: textOr(item["arguments"]) ?? "",
        },
      ];
    default:
      return [];
  }
}

/** What broke off is no whole answer, for which other dialects have no word but that it was filtered. */
export function readStop(
  { status, incomplete_details: details }: JsonObject,
  parts: readonly Pick<ChatPart, "kind">[],
): StopReason {
  if (status === "incomplete")
    return objectOrEmpty(details)["reason"] === "max_output_tokens" ? "length" : "filtered";
  if (status === "failed" || status === "cancelled") return "filtered";
  return parts.some(({ kind }) => kind === "tool_call") ? "tool_calls" : "end";
}

const textOr = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;
