import type { JsonObject } from "../../../platform/json.ts";
import type { ChatEvent, ChatUsage, ToolCallPart } from "../chat.ts";
import type { EventWriter, SseEvent, WriteContext } from "../dialect.ts";
import { withoutUndefined } from "../without-undefined.ts";
import { writeStopReason } from "./stop-reason.ts";
import { createSignatureJoiner } from "./joined-signatures.ts";
import { markFirstCall } from "./signatures.ts";
import { writeImage } from "./media.ts";
import { writeStreamError } from "./stream-error.ts";
import { writeUsage } from "./usage.ts";
import { writeCall, writeReasoning } from "./write-parts.ts";

export function createEventWriter(context: WriteContext): EventWriter {
  const writer = createChunkWriter(context);
  const { join, rest } = createSignatureJoiner();
  return {
    write: (event) => join(event).flatMap(writer.write),
    end: () => [...rest().flatMap(writer.write), ...writer.end()],
  };
}

/**
 * Why it stopped and what it used are told in the last chunk, together. Vendors tell the two in either order
 * and some after the stop, so that chunk waits for the end.
 */
function createChunkWriter(context: WriteContext): EventWriter {
  let { id, model } = context;
  const { choice = 0 } = context;
  let usage: ChatUsage | undefined;
  let stop: Extract<ChatEvent, { kind: "stop" }> | undefined;
  let failed = false;
  let malformed = false;
  let called = false;
  /** A call is told whole; until its arguments are complete it waits here. */
  const calls = new Map<number, Omit<ToolCallPart, "kind">>();

  const chunk = (members: JsonObject): SseEvent => sse({ ...members, modelVersion: model, responseId: id });

  const say = (...parts: readonly JsonObject[]): readonly SseEvent[] =>
    parts.length === 0 ? [] : [chunk({ candidates: [{ content: { role: "model", parts }, index: choice }] })];

  const takeCall = (index: number): readonly JsonObject[] => {
    const call = calls.get(index);
    if (call === undefined) return [];
    calls.delete(index);
    const written = writeCall(call);
    malformed ||= written === undefined;
    if (written === undefined) return [];
    const isFirst = !called;
    called = true;
    return isFirst ? markFirstCall([written]) : [written];
  };

  return {
    write: (event) => {
      switch (event.kind) {
        case "start":
          id = event.id ?? id;
          model = event.model ?? model;
          return [];
        case "text":
          return event.text === "" ? [] : say({ text: event.text });
        case "reasoning":
          return say(writeReasoning(event));
        case "image":
          return say(writeImage(event));
        case "tool_call": {
          const { kind: _kind, index, ...call } = event;
          calls.set(index, { ...call, arguments: "" });
          return [];
        }
        case "tool_arguments": {
          const call = calls.get(event.index);
          if (call !== undefined) {
            calls.set(event.index, { ...call, arguments: call.arguments + event.text });
          }
          return [];
        }
        case "part_end":
          return say(...takeCall(event.index));
        case "media":
          return [];
        case "usage":
          usage = event.usage;
          return [];
        case "stop":
          stop = event;
          return [];
        case "error":
          failed = true;
          return [sse(writeStreamError(event))];
      }
    },
    end: () => {
      if (failed) return [];
      // Without a stop the answer was cut off: a call that was never finished is not passed off as one.
      const left = stop === undefined ? [] : [...calls.keys()].flatMap(takeCall);
      if (stop === undefined && usage === undefined) return [];
      const finishReason = stop === undefined ? undefined : writeStopReason(stop.reason, malformed);
      // Google ends with an empty text too: its client forgets the whole turn when a chunk has no parts.
      const parts = left.length === 0 ? [{ text: "" }] : left;
      const candidate = withoutUndefined({ content: { role: "model", parts }, finishReason, index: choice });
      const usageMetadata = usage === undefined ? undefined : writeUsage(usage);
      return [chunk(withoutUndefined({ candidates: [candidate], usageMetadata }))];
    },
  };
}

const sse = (body: JsonObject): SseEvent => ({ event: undefined, data: JSON.stringify(body) });
