// Anthropic sends one content block after the other, and its client takes the last to be the one that grows.
// Other vendors mix the pieces of parallel tool calls: those of a later part wait until the earlier call is whole.

import type { JsonObject } from "../../../platform/json.ts";
import type { ChatEvent } from "../chat.ts";
import type { SseEvent } from "../dialect.ts";
import { sse } from "./sse.ts";
import { markdownImage } from "../markdown-image.ts";
import { marked } from "../marks.ts";
import { emptyText, emptyThinking, emptyToolUse, redactedThinking, unsigned } from "./write-answer.ts";

type PartEvent = Extract<ChatEvent, { readonly index: number }>;

interface BlockWriter {
  readonly write: (event: PartEvent) => SseEvent[];
  /** Closes what is open and sends what waits. */
  readonly finish: () => SseEvent[];
}

export function createBlockWriter(): BlockWriter {
  let open: { readonly part: number; readonly type: unknown; signed: boolean } | undefined;
  let blocks = 0;
  /** What came for later parts while a call was open, by part. */
  const waiting = new Map<number, PartEvent[]>();
  /** These parts in the order in which they began. The first of a map is found past all that were taken out of it before. */
  const order: number[] = [];
  let nextInOrder = 0;

  const isOpen = (event: PartEvent, type: string): boolean =>
    open?.part === event.index && open.type === type;

  /** Begins the block unless it is the open one. */
  function begin(event: PartEvent, block: JsonObject): SseEvent[] {
    if (open?.part === event.index && open.type === block["type"]) return [];
    const closed = close();
    open = { part: event.index, type: block["type"], signed: false };
    return [...closed, sse("content_block_start", { index: blocks, content_block: block })];
  }

  const grow = (delta: JsonObject): SseEvent => sse("content_block_delta", { index: blocks, delta });

  function close(): SseEvent[] {
    if (open === undefined) return [];
    const last = open.type === "thinking" && !open.signed ? [sign(unsigned)] : [];
    open = undefined;
    return [...last, sse("content_block_stop", { index: blocks++ })];
  }

  const sign = (signature: string): SseEvent => grow({ type: "signature_delta", signature });

  /** An empty thought that holds what the call after it is signed with. */
  function carry(event: PartEvent, signature: string): SseEvent[] {
    const begun = begin(event, emptyThinking);
    if (open) open.signed = true;
    return [...begun, sign(marked("gemini", signature)), ...close()];
  }

  function write(event: PartEvent): SseEvent[] {
    if (open?.type === "tool_use" && event.index !== open.part) {
      const earlier = waiting.get(event.index);
      if (earlier) earlier.push(event);
      else {
        waiting.set(event.index, [event]);
        order.push(event.index);
      }
      return [];
    }
    const sent = put(event);
    if (event.kind === "part_end") sent.push(...sendWaiting());
    return sent;
  }

  function put(event: PartEvent): SseEvent[] {
    switch (event.kind) {
      case "text":
        if (event.text === "") return [];
        return [...begin(event, emptyText), grow({ type: "text_delta", text: event.text })];
      case "reasoning":
        return writeReasoning(event);
      case "image":
        return [...begin(event, emptyText), grow({ type: "text_delta", text: markdownImage(event) })];
      case "tool_call":
        return [
          ...(event.signature === undefined ? [] : carry(event, event.signature)),
          ...begin(event, emptyToolUse(event)),
        ];
      case "tool_arguments":
        if (event.text === "" || !isOpen(event, "tool_use")) return [];
        return [grow({ type: "input_json_delta", partial_json: event.text })];
      case "part_end":
        return open?.part === event.index ? close() : [];
    }
  }

  function writeReasoning(event: Extract<PartEvent, { readonly kind: "reasoning" }>): SseEvent[] {
    const { text, signature = "", redacted } = event;
    if (redacted !== undefined) return begin(event, redactedThinking(redacted));
    if (text === "" && signature === "") return [];
    const started = begin(event, emptyThinking);
    if (text !== "") started.push(grow({ type: "thinking_delta", thinking: text }));
    if (signature !== "") {
      started.push(sign(signature));
      if (open) open.signed = true;
    }
    return started;
  }

  /** Up to a call that is not whole yet. */
  function sendWaiting(): SseEvent[] {
    const sent: SseEvent[] = [];
    while (open?.type !== "tool_use") {
      const part = order[nextInOrder];
      if (part === undefined) break;
      nextInOrder++;
      const events = waiting.get(part) ?? [];
      waiting.delete(part);
      for (const event of events) sent.push(...put(event));
    }
    return sent;
  }

  function finish(): SseEvent[] {
    const sent = close();
    while (waiting.size > 0) sent.push(...sendWaiting(), ...close());
    return sent;
  }

  return { write, finish };
}
