import { isJsonObject, objectOrEmpty, type JsonObject } from "../../../platform/json.ts";
import { readAnswerId, readAnswerModel } from "../answer-names.ts";
import { unshown, type ChatEvent } from "../chat.ts";
import type { SseEvent } from "../dialect.ts";
import { isTooDeep, withExactNumbers } from "../exact-json.ts";
import { createBlockReader } from "./read-blocks.ts";
import { stringOr } from "./read-answer.ts";
import { readStopReason } from "./stop-reason.ts";
import { ReportedUsage } from "./usage.ts";

export function createEventReader(): (event: SseEvent) => readonly ChatEvent[] {
  const blocks = createBlockReader();
  const reported = new ReportedUsage();
  let started = false;
  let hasCalled = false;
  /** Said how it ended, or that it failed. */
  let ended = false;

  function readReport(report: unknown): ChatEvent[] {
    const usage = isJsonObject(report) ? reported.add(report) : undefined;
    return usage === undefined ? [] : [{ kind: "usage", usage }];
  }

  /** A vendor that says the message has stopped has finished, even if it did not say how. */
  function readMessageStop(): ChatEvent[] {
    if (!started || ended) return [];
    return [{ kind: "stop", reason: hasCalled ? "tool_calls" : "end", stopSequence: undefined }];
  }

  return (event) => {
    const told = read(event);
    for (const { kind } of told) {
      started ||= kind === "start";
      hasCalled ||= kind === "tool_call";
      ended ||= kind === "stop" || kind === "error";
    }
    return told;
  };

  function read(event: SseEvent): readonly ChatEvent[] {
    const data = parse(event.data);
    switch (data["type"] ?? event.event) {
      case "message_start": {
        const message = objectOrEmpty(data["message"]);
        return [
          {
            kind: "start",
            id: readAnswerId(stringOr(message["id"], undefined)),
            model: readAnswerModel(stringOr(message["model"], undefined)),
          },
          ...readReport(message["usage"]),
        ];
      }
      case "content_block_start":
        if (isTooDeep(event.data)) return [unshown];
        return blocks.start(objectOrEmpty(withExactNumbers(data, event.data)));
      case "content_block_delta":
        return blocks.delta(data);
      case "content_block_stop":
        return blocks.stop(data);
      case "message_delta":
        return [...readReport(data["usage"]), ...readStop(data["delta"])];
      case "message_stop":
        return readMessageStop();
      case "error":
        return [readError(data["error"])];
      default:
        // ping, and what is yet to come
        return [];
    }
  }
}

function parse(data: string): JsonObject {
  try {
    return objectOrEmpty(JSON.parse(data));
  } catch {
    return {};
  }
}

function readStop(delta: unknown): ChatEvent[] {
  if (!isJsonObject(delta) || typeof delta["stop_reason"] !== "string") return [];
  return [
    {
      kind: "stop",
      reason: readStopReason(delta["stop_reason"]),
      stopSequence: stringOr(delta["stop_sequence"], undefined),
    },
  ];
}

function readError(value: unknown): ChatEvent {
  const error = objectOrEmpty(value);
  return {
    kind: "error",
    type: stringOr(error["type"], "api_error"),
    message: stringOr(error["message"], "The vendor gave no reason."),
  };
}
