// One choice of a streamed answer. Text and thinking end when something else begins; calls of tools end together,
// with the choice: their fragments are numbered and may come in any order.

import { isJsonObject, objectOrEmpty, type JsonObject } from "../../../platform/json.ts";
import type { ChatEvent, ImagePart, StopReason } from "../chat.ts";
import { callsIn, readImages, textOf, thinkingOf } from "./answer-members.ts";
import { CallsReader, type CallingChoice } from "./read-event-calls.ts";
import { oddFinish, readStopReason } from "./stop-reason.ts";

/** The answer that the choice is part of. */
export interface ChoosingAnswer {
  readonly id: string;
  /** Takes what the choice says, in order. */
  readonly tell: (event: ChatEvent) => void;
  /** The number of the part that begins now. */
  readonly nextIndex: () => number;
}

interface Stopped {
  readonly reason: StopReason;
  readonly odd?: string;
}

interface OpenPart {
  readonly kind: "text" | "reasoning";
  readonly index: number;
}

/** A class without closures, because thousands of streams may be open. */
export class ChoiceReader implements CallingChoice {
  readonly #answer: ChoosingAnswer;
  #open: OpenPart | undefined;
  #refused = false;
  /** Most answers call nothing. */
  #calls: CallsReader | undefined;
  #stopped: Stopped | undefined;

  constructor(answer: ChoosingAnswer) {
    this.#answer = answer;
  }

  /** Undefined while more may come. */
  get stopped(): Stopped | undefined {
    return this.#stopped;
  }

  get answerId(): string {
    return this.#answer.id;
  }

  read(choice: JsonObject): void {
    const delta = objectOrEmpty(choice["delta"]);
    const refusal = textOf(delta["refusal"]);
    this.#refused ||= refusal !== "";
    this.#say("reasoning", thinkingOf(delta));
    this.#say("text", textOf(delta["content"]) + refusal);
    this.#call(callsIn(delta));
    if (delta["images"] !== undefined) this.#show(readImages(delta["images"]));
    if (isJsonObject(delta["audio"])) this.#hear(delta["audio"]);
    const finish = choice["finish_reason"];
    // Some compatible servers say an empty one in every piece until the last.
    if (typeof finish === "string" && finish !== "") this.end(finish);
  }

  tell(event: ChatEvent): void {
    this.#answer.tell(event);
  }

  begin(): number {
    this.#close();
    return this.#answer.nextIndex();
  }

  end(finish: string | undefined): void {
    if (this.#stopped !== undefined) return;
    this.#close();
    this.#calls?.end();
    const called = this.#calls?.any === true;
    const reason = readStopReason(finish, { called, refused: this.#refused });
    const odd = oddFinish(finish);
    this.#stopped = odd === undefined ? { reason } : { reason, odd };
  }

  #say(kind: OpenPart["kind"], text: string): void {
    if (text === "") return;
    if (this.#open?.kind !== kind) this.#open = { kind, index: this.begin() };
    this.tell({ kind, index: this.#open.index, text });
  }

  #call(pieces: readonly JsonObject[]): void {
    if (pieces.length === 0) return;
    this.#calls ??= new CallsReader(this);
    this.#calls.read(pieces);
  }

  #show(images: readonly ImagePart[]): void {
    for (const { kind, source } of images) {
      const index = this.begin();
      this.tell({ kind, index, source });
      this.tell({ kind: "part_end", index });
    }
  }

  /** The transcript comes in pieces before the sound. */
  #hear(audio: JsonObject): void {
    const transcript = textOf(audio["transcript"]);
    const hasBytes = textOf(audio["data"]) !== "";
    if (transcript !== "" || hasBytes) this.tell({ kind: "media", transcript, hasBytes });
  }

  #close(): void {
    if (this.#open !== undefined) this.tell({ kind: "part_end", index: this.#open.index });
    this.#open = undefined;
  }
}
