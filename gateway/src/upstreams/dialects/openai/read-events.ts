import { isJsonObject, type JsonObject } from "../../../platform/json.ts";
import { readAnswerId, readAnswerModel } from "../answer-names.ts";
import type { ChatEvent } from "../chat.ts";
import type { SseEvent } from "../dialect.ts";
import { isErrorTold } from "../dialect-errors.ts";
import { choiceError, textOf } from "./answer-members.ts";
import { createChoiceReader, type ChoiceReader } from "./read-event-choice.ts";
import { readUsage } from "./usage.ts";

/**
 * A translated request asks for one choice. A caller of OpenAI itself may ask for more: they are told one beside
 * the other, so that what passes can be counted, and the answer stops with the last of them.
 */
export function createEventReader(): (event: SseEvent) => readonly ChatEvent[] {
  const choices = new Map<unknown, ChoiceReader>();
  /** Those that have not stopped yet. */
  const running = new Set<ChoiceReader>();
  let started = false;
  let stopped = false;
  /** After an error nothing is told but what was used. */
  let failed = false;
  let answerId = "";
  let partsBegun = 0;

  let told: ChatEvent[] = [];
  const tell = (event: ChatEvent): void => void told.push(event);

  return ({ data }) => {
    told = [];
    if (data.trim() === "[DONE]") readDone();
    else readChunk(parsed(data));
    return told;
  };

  function readChunk(chunk: JsonObject): void {
    const chosen = choicesOf(chunk["choices"]);
    const error = isErrorTold(chunk["error"]) ? chunk["error"] : choiceError(chosen[0]);
    // Moonshot says it in the last choice.
    const usage = readUsage(chunk["usage"]) ?? readUsage(chosen.at(-1)?.["usage"]);
    if (error !== undefined && !failed) {
      failed = true;
      tell(readError(error));
    }
    if (failed) {
      if (usage !== undefined) tell({ kind: "usage", usage });
      return;
    }
    if (!started && (chosen.length > 0 || usage !== undefined)) {
      started = true;
      answerId = readAnswerId(textOf(chunk["id"])) ?? "";
      const model = readAnswerModel(textOf(chunk["model"]));
      tell({ kind: "start", id: answerId || undefined, model: model || undefined });
    }
    for (const choice of chosen) {
      const reader = readerOf(choice["index"] ?? 0);
      reader.read(choice);
      if (reader.stopped() !== undefined) running.delete(reader);
    }
    if (chosen.length > 0) stopWhenAllHave();
    if (usage !== undefined) tell({ kind: "usage", usage });
  }

  /** A vendor that says it is done has finished, even if it did not say how. */
  function readDone(): void {
    if (!started || stopped || failed) return;
    if (choices.size === 0) readerOf(0);
    for (const reader of running) reader.end(undefined);
    running.clear();
    stopWhenAllHave();
  }

  function readerOf(choice: unknown): ChoiceReader {
    const known = choices.get(choice);
    if (known !== undefined) return known;
    const reader = createChoiceReader({ answerId, tell, nextIndex: () => partsBegun++ });
    choices.set(choice, reader);
    running.add(reader);
    return reader;
  }

  function stopWhenAllHave(): void {
    const [first] = choices.values();
    const stop = first?.stopped();
    if (stopped || stop === undefined || running.size > 0) return;
    stopped = true;
    tell({ kind: "stop", stopSequence: undefined, ...stop });
  }
}

/** What is not a chunk says nothing. */
function parsed(data: string): JsonObject {
  try {
    const value: unknown = JSON.parse(data);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

const choicesOf = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value) ? value.filter(isJsonObject) : [];

function readError(value: unknown): ChatEvent {
  const error = isJsonObject(value) ? value : { message: value };
  return {
    kind: "error",
    type: textOf(error["type"]) || textOf(error["code"]) || "server_error",
    message: textOf(error["message"]) || "the upstream ended its answer with an error",
  };
}
