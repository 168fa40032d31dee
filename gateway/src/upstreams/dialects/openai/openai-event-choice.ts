// One choice of a streamed answer. Text and thinking end when something else begins; calls of tools end together,
// with the choice: their fragments are numbered and may come in any order.

import { isJsonObject, type JsonObject } from "../../../platform/json.ts";
import type { ChatEvent, StopReason } from "../chat.ts";
import { textOf, thinkingOf } from "./openai-answer-members.ts";
import { createCallsReader } from "./openai-event-calls.ts";
import { readFinish } from "./openai-finish.ts";

export interface ChoiceReader {
  readonly read: (choice: JsonObject) => Generator<ChatEvent>;
  readonly end: (finish: string | undefined) => Generator<ChatEvent>;
  /** Undefined while more may come. */
  readonly stopped: () => StopReason | undefined;
}

export function createChoiceReader(parts: {
  readonly answerId: string;
  /** The number of the part that begins now. */
  readonly nextIndex: () => number;
}): ChoiceReader {
  let open: { readonly kind: "text" | "reasoning"; readonly index: number } | undefined;
  let refused = false;
  let stop: StopReason | undefined;
  const calls = createCallsReader({ answerId: parts.answerId, begin });

  return {
    *read(choice) {
      const delta = isJsonObject(choice["delta"]) ? choice["delta"] : {};
      const refusal = textOf(delta["refusal"]);
      refused ||= refusal !== "";
      yield* say("reasoning", thinkingOf(delta));
      yield* say("text", textOf(delta["content"]) + refusal);
      yield* calls.read(delta);
      const finish = choice["finish_reason"];
      if (typeof finish === "string") yield* end(finish);
    },
    end,
    stopped: () => stop,
  };

  function* say(kind: "text" | "reasoning", text: string): Generator<ChatEvent> {
    if (text === "") return;
    if (open?.kind !== kind) {
      const index = yield* begin();
      open = { kind, index };
    }
    yield { kind, index: open.index, text };
  }

  function* begin(): Generator<ChatEvent, number> {
    yield* close();
    return parts.nextIndex();
  }

  function* close(): Generator<ChatEvent> {
    if (open !== undefined) yield { kind: "part_end", index: open.index };
    open = undefined;
  }

  function* end(finish: string | undefined): Generator<ChatEvent> {
    if (stop !== undefined) return;
    yield* close();
    yield* calls.end();
    stop = readFinish(finish, { called: calls.any(), refused });
  }
}
