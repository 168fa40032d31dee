import type { JsonObject } from "../../../platform/json.ts";
import type { ChatEvent, ChatUsage } from "../chat.ts";
import { brokenOff } from "../cut-short.ts";
import type { EventWriter, SseEvent, WriteContext } from "../dialect.ts";
import { sse } from "./sse.ts";
import { writeHead, writeStop } from "./write-answer.ts";
import { createBlockWriter } from "./write-blocks.ts";
import { writeDeltaUsage, writeUsage } from "./usage.ts";

type Stopped = Extract<ChatEvent, { readonly kind: "stop" }>;

export function createEventWriter(context: WriteContext): EventWriter {
  const blocks = createBlockWriter();
  let id: string | undefined;
  let usage: ChatUsage | undefined;
  let stopped: Stopped | undefined;
  let phase: "waiting" | "started" | "failed" = "waiting";

  // The first event waits for content, so that it can hold the usage that some vendors tell at once.
  function start(): SseEvent[] {
    if (phase !== "waiting") return [];
    phase = "started";
    const message = {
      ...writeHead(id, context),
      content: [],
      ...writeStop(undefined),
      usage: stated(writeUsage),
    };
    return [sse("message_start", { message })];
  }

  function stated(write: (usage: ChatUsage | undefined) => JsonObject): JsonObject {
    return usage === undefined && context.onlyStated ? {} : write(usage);
  }

  function fail(type: string, message: string): SseEvent[] {
    phase = "failed";
    return [sse("error", { error: { type: errorTypes.has(type) ? type : "api_error", message } })];
  }

  function write(event: ChatEvent): SseEvent[] {
    if (phase === "failed") return [];
    switch (event.kind) {
      case "start":
        id = event.id;
        return [];
      case "usage":
        usage = event.usage;
        return [];
      case "stop":
        stopped = event;
        return [...start(), ...blocks.finish()];
      case "media":
        return [];
      case "error":
        return fail(event.type, event.message);
      default: {
        const written = blocks.write(event);
        return written.length === 0 ? [] : [...start(), ...written];
      }
    }
  }

  // The figures wait for the end: OpenAI tells them after the stop.
  function end(): SseEvent[] {
    if (phase === "failed") return [];
    if (stopped === undefined) return fail("api_error", brokenOff.message);
    const delta = writeStop({ stop: stopped.reason, stopSequence: stopped.stopSequence });
    return [
      ...start(),
      ...blocks.finish(),
      sse("message_delta", { delta, usage: stated(writeDeltaUsage) }),
      sse("message_stop", {}),
    ];
  }

  return { write, end };
}

/** The types that Anthropic's clients know. */
const errorTypes: ReadonlySet<string> = new Set([
  "invalid_request_error",
  "authentication_error",
  "billing_error",
  "permission_error",
  "not_found_error",
  "rate_limit_error",
  "timeout_error",
  "overloaded_error",
  "api_error",
]);
