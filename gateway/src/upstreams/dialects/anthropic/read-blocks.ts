import { isJsonObject, objectOrEmpty, type JsonObject } from "../../../platform/json.ts";
import type { ChatEvent } from "../chat.ts";
import { stringOr } from "./read-answer.ts";
import { CarriedSignature, readSignature } from "./signed-thoughts.ts";
import { readToolInput } from "../tool-input.ts";

/** A content block between its start and its stop. */
interface OpenBlock {
  /** Given when the part first says something: empty blocks and blocks of Anthropic's own tools have none. */
  part: number | undefined;
  /** The arguments as the start gave them; undefined once they have come piece by piece. */
  input: unknown;
}

interface BlockReader {
  readonly start: (data: JsonObject) => ChatEvent[];
  readonly delta: (data: JsonObject) => ChatEvent[];
  readonly stop: (data: JsonObject) => ChatEvent[];
}

export function createBlockReader(): BlockReader {
  const open = new Map<unknown, OpenBlock>();
  const carried = new CarriedSignature();
  let parts = 0;
  const partOf = (block: OpenBlock): number => (block.part ??= parts++);

  function readText(block: OpenBlock, text: string): ChatEvent[] {
    return text === "" ? [] : [{ kind: "text", index: partOf(block), text }];
  }

  function readThinking(
    block: OpenBlock,
    said: { readonly text: string; readonly signature: string },
  ): ChatEvent[] {
    const { text } = said;
    const { signature, forNextCall } = readSignature(said.signature);
    carried.carry(forNextCall);
    if (signature !== undefined) return [{ kind: "reasoning", index: partOf(block), text, signature }];
    return text === "" ? [] : [{ kind: "reasoning", index: partOf(block), text }];
  }

  function readArguments(block: OpenBlock, text: string): ChatEvent[] {
    if (text === "" || block.part === undefined) return [];
    block.input = undefined;
    return [{ kind: "tool_arguments", index: block.part, text }];
  }

  function start(data: JsonObject): ChatEvent[] {
    const content = objectOrEmpty(data["content_block"]);
    const block: OpenBlock = { part: undefined, input: undefined };
    open.set(data["index"], block);
    switch (content["type"]) {
      case "text":
        return readText(block, stringOr(content["text"], ""));
      case "thinking":
        return readThinking(block, {
          text: stringOr(content["thinking"], ""),
          signature: stringOr(content["signature"], ""),
        });
      case "redacted_thinking":
        return [
          { kind: "reasoning", index: partOf(block), text: "", redacted: stringOr(content["data"], "") },
        ];
      case "tool_use": {
        block.input = content["input"] ?? {};
        return [
          {
            kind: "tool_call",
            index: partOf(block),
            id: stringOr(content["id"], ""),
            name: stringOr(content["name"], ""),
            ...carried.take(),
          },
        ];
      }
      default:
        // Whatever its deltas are, they belong to nothing we read.
        open.delete(data["index"]);
        return [];
    }
  }

  function delta(data: JsonObject): ChatEvent[] {
    const block = open.get(data["index"]);
    const piece = data["delta"];
    if (block === undefined || !isJsonObject(piece)) return [];
    switch (piece["type"]) {
      case "text_delta":
        return readText(block, stringOr(piece["text"], ""));
      case "thinking_delta":
        return readThinking(block, { text: stringOr(piece["thinking"], ""), signature: "" });
      case "signature_delta":
        return readThinking(block, { text: "", signature: stringOr(piece["signature"], "") });
      case "input_json_delta":
        return readArguments(block, stringOr(piece["partial_json"], ""));
      default:
        return [];
    }
  }

  function stop(data: JsonObject): ChatEvent[] {
    const block = open.get(data["index"]);
    open.delete(data["index"]);
    if (block?.part === undefined) return [];
    const whole = block.input === undefined ? [] : readArguments(block, readToolInput(block.input));
    return [...whole, { kind: "part_end", index: block.part }];
  }

  return { start, delta, stop };
}
