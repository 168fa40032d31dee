import { isJsonObject, objectOrEmpty, objectsIn, type JsonObject } from "../../../platform/json.ts";
import { readAnswerId, readAnswerModel } from "../answer-names.ts";
import type { ChatEvent } from "../chat.ts";
import type { EventReader, SseEvent } from "../dialect.ts";
import { isErrorTold } from "../dialect-errors.ts";
import { choiceError, textOf } from "./answer-members.ts";
import { ChoiceReader, type ChoosingAnswer } from "./read-event-choice.ts";
import { readUsage } from "./usage.ts";

export function createEventReader(): EventReader {
  const answer = new AnswerReader();
  return (event) => answer.read(event);
}

/**
 * A translated request asks for one choice. A caller of OpenAI itself may ask for more: they are told one beside
 * the other, so that what passes can be counted, and the answer stops with the last of them.
 * A class without closures, because thousands of streams may be open.
 */
class AnswerReader implements ChoosingAnswer {
  #id = "";
  readonly #choices = new Map<unknown, ChoiceReader>();
  /** How many of them have not stopped yet. */
  #running = 0;
  #partsBegun = 0;
  #started = false;
  #stopped = false;
  /** After an error nothing is told but what was used. */
  #failed = false;
  #told: ChatEvent[] = [];

  get id(): string {
    return this.#id;
  }

  read({ data }: SseEvent): readonly ChatEvent[] {
    this.#told = [];
    if (data.trim() === "[DONE]") this.#readDone();
    else this.#readChunk(parsed(data));
    return this.#told;
  }

  tell(event: ChatEvent): void {
    this.#told.push(event);
  }

  nextIndex(): number {
    return this.#partsBegun++;
  }

  #readChunk(chunk: JsonObject): void {
    const chosen = objectsIn(chunk["choices"]);
    const error = isErrorTold(chunk["error"]) ? chunk["error"] : choiceError(chosen[0]);
    // Moonshot says it in the last choice.
    const usage = readUsage(chunk["usage"]) ?? readUsage(chosen.at(-1)?.["usage"]);
    if (error !== undefined && !this.#failed) {
      this.#failed = true;
      this.tell(readError(error));
    }
    if (this.#failed) {
      if (usage !== undefined) this.tell({ kind: "usage", usage });
      return;
    }
    if (!this.#started && (chosen.length > 0 || usage !== undefined)) this.#start(chunk);
    for (const choice of chosen) this.#readChoice(choice);
    if (chosen.length > 0) this.#stopWhenAllHave();
    if (usage !== undefined) this.tell({ kind: "usage", usage });
  }

  #start(chunk: JsonObject): void {
    this.#started = true;
    this.#id = readAnswerId(textOf(chunk["id"])) ?? "";
    const model = readAnswerModel(textOf(chunk["model"]));
    this.tell({ kind: "start", id: this.#id || undefined, model: model || undefined });
  }

  #readChoice(choice: JsonObject): void {
    const reader = this.#readerOf(choice["index"] ?? 0);
    const wasRunning = reader.stopped === undefined;
    reader.read(choice);
    if (wasRunning && reader.stopped !== undefined) this.#running--;
  }

  /** A vendor that says it is done has finished, even if it did not say how. */
  #readDone(): void {
    if (!this.#started || this.#stopped || this.#failed) return;
    if (this.#choices.size === 0) this.#readerOf(0);
    for (const reader of this.#choices.values()) reader.end(undefined);
    this.#running = 0;
    this.#stopWhenAllHave();
  }

  #readerOf(choice: unknown): ChoiceReader {
    const known = this.#choices.get(choice);
    if (known !== undefined) return known;
    const reader = new ChoiceReader(this);
    this.#choices.set(choice, reader);
    this.#running++;
    return reader;
  }

  #stopWhenAllHave(): void {
    if (this.#stopped || this.#running > 0) return;
    const [first] = this.#choices.values();
    if (first?.stopped === undefined) return;
    this.#stopped = true;
    this.tell({ kind: "stop", stopSequence: undefined, ...first.stopped });
  }
}

/** What is not a chunk says nothing. */
function parsed(data: string): JsonObject {
  try {
    return objectOrEmpty(JSON.parse(data));
  } catch {
    return {};
  }
}

function readError(value: unknown): ChatEvent {
  const error = isJsonObject(value) ? value : { message: value };
  return {
    kind: "error",
    type: textOf(error["type"]) || textOf(error["code"]) || "server_error",
    message: textOf(error["message"]) || "the upstream ended its answer with an error",
  };
}
