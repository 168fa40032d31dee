import { guessTokens } from "../../prices/guess-tokens.ts";
import type { Quantities } from "../../prices/quantities.ts";
import type { TokenReading } from "../../operation/token-reading.ts";
import type { WithheldRefusal } from "../../operation/withheld-refusal.ts";
import type { ChatEvent, ChatUsage } from "../dialects/chat.ts";

/** A vendor that is odd in one event is often odd in all of them; the first ones say how. */
const namedAnomaliesMax = 10;
const none: readonly string[] = [];

type PartEnd = Extract<ChatEvent, { readonly kind: "part_end" }>;

/** Adds up what passes in a stream, and what the vendor says it used. */
export class StreamMeter {
  #usage: ChatUsage | undefined;
  #model: string | undefined;
  #outputBytes = 0;
  /** The part that spoke last, and what all others said before it. */
  #part = 0;
  #bytesOfOthers = 0;
  /** What each of the others said; most answers have one part, and no list. */
  #bytesOfParts: Map<number, number> | undefined;
  #stopped = false;
  #failed = false;
  #refused: WithheldRefusal | undefined;
  /** Figures told before the end are not the last word, unless nothing came after them: some count one token at the start. */
  #usageIsFinal = false;
  #bytesUntilUsage = 0;
  /** Images or sound came, whose bytes say nothing about their tokens. */
  #hasMedia = false;
  /** Some of the answer came to its end, be it a call or a sealed thought that came at once, without a letter to count. */
  #hasWholePart = false;
  /** How much output the vendor had told when they came, until it has told more. */
  #toldBeforeMedia: number | undefined;
  #anomalies: readonly string[] = none;
  #anomalyCount = 0;

  /** Whether the answer came to its end, and the vendor never said that it gave up. */
  get complete(): boolean {
    return this.#stopped && !this.#failed;
  }

  /** Whether the vendor itself said how its answer ended. */
  get told(): boolean {
    return this.#stopped || this.#failed;
  }

  /** What the vendor said of the operator when it gave up. */
  get refused(): WithheldRefusal | undefined {
    return this.#refused;
  }

  get delivered(): number {
    if (this.#outputBytes > 0) return this.#outputBytes;
    return this.#hasDelivered() ? 1 : 0;
  }

  add(events: readonly ChatEvent[], odd: readonly string[]): void {
    this.#stopped ||= events.some(({ kind }) => kind === "stop");
    for (const event of events) {
      if (event.kind === "usage") {
        this.#usage = event.usage;
        this.#usageIsFinal = this.#stopped;
        this.#bytesUntilUsage = this.#outputBytes;
        if (event.usage.output > (this.#toldBeforeMedia ?? 0)) this.#toldBeforeMedia = undefined;
      } else if (event.kind === "error") {
        this.#failed = true;
        this.#refused ??= event.refused;
      } else if (event.kind === "stop") {
        if (event.odd !== undefined) this.#note([oddStop(event.odd)]);
      } else if ("text" in event) {
        this.#turnTo(event.index);
        this.#outputBytes += Buffer.byteLength(event.text);
      } else if (event.kind === "tool_call") this.#outputBytes += Buffer.byteLength(event.name);
      else if (event.kind === "start") this.#model ??= event.model;
      else if (event.kind === "part_end") this.#noteWholePart(event);
      else if (event.kind === "image") this.#noteMedia();
      else if (event.kind === "media") {
        this.#outputBytes += Buffer.byteLength(event.transcript);
        if (event.hasBytes) this.#noteMedia();
      }
    }
    if (odd.length > 0) this.#note(odd);
  }

  /** What follows unread is of the same part, so that nothing needs to be noted until another one speaks. */
  #turnTo(part: number): void {
    if (part === this.#part) return;
    this.#bytesOfParts ??= new Map();
    this.#bytesOfParts.set(this.#part, this.#outputBytes - this.#bytesOfOthers);
    this.#bytesOfOthers = this.#outputBytes - (this.#bytesOfParts.get(part) ?? 0);
    this.#part = part;
  }

  /**
   * What came at once was not counted before, and what came piece by piece is not counted again. A part is compared with
   * its own pieces, as others may not repeat theirs; all together are compared too, as some vendors number all parts alike.
   */
  #noteWholePart({ index, saidBytes = 0, partBytes = 0 }: PartEnd): void {
    this.#hasWholePart = true;
    if (partBytes > 0) this.#turnTo(index);
    this.#outputBytes = Math.max(this.#outputBytes, saidBytes, this.#bytesOfOthers + partBytes);
  }

  #noteMedia(): void {
    this.#hasMedia = true;
    this.#toldBeforeMedia ??= this.#usage?.output ?? 0;
  }

  #note(odd: readonly string[]): void {
    this.#anomalyCount += odd.length;
    if (this.#anomalies.length < namedAnomaliesMax)
      this.#anomalies = [...this.#anomalies, ...odd].slice(0, namedAnomaliesMax);
  }

  /** Output that was seen to pass without having been read. */
  addOutput(bytes: number): void {
    this.#outputBytes += bytes;
  }

  /** Some servers end their answer without saying how, after they have said what it used. */
  #nothingCameAfterUsage(): boolean {
    const isCounted = this.#outputBytes === this.#bytesUntilUsage && this.#toldBeforeMedia === undefined;
    return this.#stopped && this.#hasDelivered() && isCounted;
  }

  #hasDelivered(): boolean {
    return this.#outputBytes > 0 || this.#hasMedia || this.#hasWholePart;
  }

  tokens(): TokenReading {
    const usage = this.#usage;
    const told: Quantities = usage ? quantitiesOf(usage) : {};
    const output = Math.max(told["output_tokens"] ?? 0, guessTokens(this.#outputBytes));
    const passed = { ...told, output_tokens: output };
    const isFinal = this.#usageIsFinal || this.#nothingCameAfterUsage();
    // Whatever an error says that it used, nothing is paid for it in place of an answer.
    const isOwed = this.#hasDelivered() || !this.#failed;
    return {
      used: usage && isFinal && isOwed ? told : undefined,
      // A stream that broke off never told its final figures: what was seen to pass is what was used.
      estimate: this.#hasDelivered() ? passed : undefined,
      isUncounted: this.#toldBeforeMedia !== undefined,
      model: this.#model,
      anomalies: this.#anomalies,
      anomalyCount: this.#anomalyCount,
    };
  }
}

/** An anomaly: what the vendor said is taken for the end, which it may not be. */
export const oddStop = (word: string): string => `an unknown reason to stop: ${word.slice(0, 100)}`;

export function quantitiesOf(usage: ChatUsage): Quantities {
  const { input, output, cacheRead, cacheWrite, cacheWrite1h, audio = silence } = usage;
  const used: Record<string, number> = {
    input_tokens: input - audio.input,
    output_tokens: output - audio.output,
  };
  if (cacheRead > audio.cacheRead) used["cache_read_tokens"] = cacheRead - audio.cacheRead;
  if (cacheWrite > 0) used["cache_write_tokens"] = cacheWrite;
  if (cacheWrite1h > 0) used["cache_write_1h_tokens"] = cacheWrite1h;
  if (audio.input > 0) used["input_audio_tokens"] = audio.input;
  if (audio.cacheRead > 0) used["cache_read_audio_tokens"] = audio.cacheRead;
  if (audio.output > 0) used["output_audio_tokens"] = audio.output;
  return used;
}

const silence = { input: 0, cacheRead: 0, output: 0 } as const;
