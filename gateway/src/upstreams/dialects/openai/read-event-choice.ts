// One choice of a streamed answer. Text and thinking end when something else begins; calls of tools end together,
// with the choice: their fragments are numbered and may come in any order.

import { isJsonObject, type JsonObject } from "../../../platform/json.ts";
import type { ChatEvent, ImagePart, StopReason } from "../chat.ts";
import { readImages, textOf, thinkingOf } from "./answer-members.ts";
import { createCallsReader } from "./read-event-calls.ts";
import { oddFinish, readStopReason } from "./stop-reason.ts";

export interface ChoiceReader {
  readonly read: (choice: JsonObject) => void;
  readonly end: (finish: string | undefined) => void;
  /** Undefined while more may come. */
  readonly stopped: () => Stopped | undefined;
}

interface Stopped {
  readonly reason: StopReason;
  readonly odd?: string;
}

export function createChoiceReader(parts: {
  readonly answerId: string;
  /** Takes what the choice says, in order. */
  readonly tell: (event: ChatEvent) => void;
  /** The number of the part that begins now. */
  readonly nextIndex: () => number;
}): ChoiceReader {
  let open: { readonly kind: "text" | "reasoning"; readonly index: number } | undefined;
  let refused = false;
  let stop: Stopped | undefined;
  const calls = createCallsReader({ answerId: parts.answerId, tell: parts.tell, begin });

  return {
    read: (choice) => {
      const delta = isJsonObject(choice["delta"]) ? choice["delta"] : {};
      const refusal = textOf(delta["refusal"]);
      refused ||= refusal !== "";
      say("reasoning", thinkingOf(delta));
      say("text", textOf(delta["content"]) + refusal);
      calls.read(delta);
      if (delta["images"] !== undefined) show(readImages(delta["images"]));
      if (isJsonObject(delta["audio"])) hear(delta["audio"]);
      const finish = choice["finish_reason"];
      // Some compatible servers say an empty one in every piece until the last.
      if (typeof finish === "string" && finish !== "") end(finish);
    },
    end,
    stopped: () => stop,
  };

  function say(kind: "text" | "reasoning", text: string): void {
    if (text === "") return;
    if (open?.kind !== kind) {
      open = { kind, index: begin() };
    }
    parts.tell({ kind, index: open.index, text });
  }

  function show(images: readonly ImagePart[]): void {
    for (const { kind, source } of images) {
      const index = begin();
      parts.tell({ kind, index, source });
      parts.tell({ kind: "part_end", index });
    }
  }

  /** The transcript comes in pieces before the sound. */
  function hear(audio: JsonObject): void {
    const transcript = textOf(audio["transcript"]);
    const hasBytes = textOf(audio["data"]) !== "";
    if (transcript !== "" || hasBytes) parts.tell({ kind: "media", transcript, hasBytes });
  }

  function begin(): number {
    close();
    return parts.nextIndex();
  }

  function close(): void {
    if (open !== undefined) parts.tell({ kind: "part_end", index: open.index });
    open = undefined;
  }

  function end(finish: string | undefined): void {
    if (stop !== undefined) return;
    close();
    calls.end();
    const reason = readStopReason(finish, { called: calls.any(), refused });
    const odd = oddFinish(finish);
    stop = odd === undefined ? { reason } : { reason, odd };
  }
}
