import type { JsonObject } from "../../../platform/json.ts";
import type { ChatEvent, ChatUsage } from "../chat.ts";
import type { EventWriter, SseEvent, WriteContext } from "../dialect.ts";
import { writeId } from "./write-answer.ts";
import { writeImage } from "./content.ts";
import { writeStopReason } from "./stop-reason.ts";
import { writeSignature } from "./tool-calls.ts";
import { writeUsage } from "./usage.ts";

export function createEventWriter(context: WriteContext): EventWriter {
  let id = writeId(undefined, context);
  let begun = false;
  let failed = false;
  let usage: ChatUsage | undefined;
  /** By the number of the part; this dialect numbers calls among themselves. */
  const calls = new Map<number, number>();

  return {
    write(event) {
      switch (event.kind) {
        case "start":
          id = writeId(event.id, context);
          return [];
        case "text":
          return event.text === "" ? [] : [...begin(""), delta({ content: event.text })];
        case "reasoning":
          return event.text === "" ? [] : [...begin(null), delta({ reasoning_content: event.text })];
        case "image":
          return [...begin(""), delta({ images: [writeImage(event)] })];
        case "tool_call":
          return [...begin(null), delta({ tool_calls: [writeCall(event)] })];
        case "tool_arguments":
          return writeArguments(event.index, event.text);
        case "part_end":
        case "media":
          return [];
        case "usage":
          usage = event.usage;
          return [];
        case "stop":
          return [...begin(""), delta({}, writeStopReason(event.reason))];
        case "error":
          failed = true;
          return [said({ error: writeError(event) })];
      }
    },

    // After an error nothing follows: [DONE] would say that the answer is complete.
    end() {
      if (failed) return [];
      const last: SseEvent = { event: undefined, data: "[DONE]" };
      if (!context.includeUsage || usage === undefined) return [last];
      return [chunk({ choices: [], usage: writeUsage(usage) }), last];
    },
  };

  /** The first chunk says who speaks; its content is empty where text follows, and null where none may. */
  function begin(content: "" | null): readonly SseEvent[] {
    if (begun) return [];
    begun = true;
    return [delta({ role: "assistant", content, refusal: null })];
  }

  function writeCall(event: Extract<ChatEvent, { kind: "tool_call" }>): JsonObject {
    const at = calls.size;
    calls.set(event.index, at);
    return {
      index: at,
      id: event.id,
      type: "function",
      function: { name: event.name, arguments: "" },
      ...writeSignature(event.signature),
    };
  }

  function writeArguments(part: number, text: string): readonly SseEvent[] {
    const index = calls.get(part);
    if (index === undefined || text === "") return [];
    return [delta({ tool_calls: [{ index, function: { arguments: text } }] })];
  }

  function delta(members: JsonObject, finish: string | null = null): SseEvent {
    return chunk({
      choices: [{ index: context.choice ?? 0, delta: members, logprobs: null, finish_reason: finish }],
      ...(context.includeUsage ? { usage: null } : {}),
    });
  }

  function chunk(members: JsonObject): SseEvent {
    return said({
      id,
      object: "chat.completion.chunk",
      created: context.createdSeconds,
      model: context.model,
      ...members,
    });
  }
}

const writeError = ({ message, type, code }: Extract<ChatEvent, { readonly kind: "error" }>): JsonObject => ({
  message,
  type,
  param: null,
  code: code ?? null,
});

const said = (value: JsonObject): SseEvent => ({ event: undefined, data: JSON.stringify(value) });
