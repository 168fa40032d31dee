import type { StreamRelay, StreamTaker } from "../../operation/stream-relay.ts";
import { FramePasser, type ShownEnding, type StreamRules } from "./frame-passer.ts";
import type { HttpStream, StreamEnding, StreamReader } from "../http/http-stream.ts";
import { FrameCutter, FrameTooLong, type FrameRoom } from "./sse.ts";
import { StreamMeter } from "./stream-meter.ts";

/** Passes a stream on, frame by frame, and meters what passes. It ends before a frame that repeats one of the secrets. */
export const createStreamRelay = (
  stream: HttpStream,
  rules: StreamRules,
  secrets: readonly string[],
  room?: FrameRoom,
): StreamRelay => new FrameRelay(stream, rules, secrets, room);

/**
 * A class, as all its parts are: thousands of streams are open at once, so that each piece finds whatever belongs to its
 * stream far away in memory, and a closure for each step would be one more thing to fetch.
 */
class FrameRelay implements StreamRelay, StreamReader {
  readonly #stream: HttpStream;
  readonly #rules: StreamRules;
  readonly #cutter: FrameCutter;
  readonly #meter = new StreamMeter();
  readonly #passer: FramePasser;
  #taker: StreamTaker | undefined;
  #ended = false;
  #gatewayStopped = false;
  #bug: StreamRelay["bug"];

  constructor(
    stream: HttpStream,
    rules: StreamRules,
    secrets: readonly string[],
    room: FrameRoom | undefined,
  ) {
    this.#stream = stream;
    this.#rules = rules;
    this.#cutter = new FrameCutter(room);
    this.#passer = new FramePasser(rules, this.#meter, secrets);
  }

  start(to: StreamTaker): void {
    this.#taker = to;
    this.#stream.start(this);
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  leave(): void {
    this.#stream.leave();
  }

  get delivered(): number {
    return this.#meter.delivered;
  }

  get bug(): StreamRelay["bug"] {
    return this.#bug;
  }

  read(): ReturnType<StreamRelay["read"]> {
    const { complete, told, refused } = this.#meter;
    return {
      tokens: this.#meter.tokens(),
      complete,
      told,
      gatewayStopped: this.#gatewayStopped,
      refused,
    };
  }

  keptIds(): readonly string[] {
    return this.#rules.keptIds?.() ?? [];
  }

  onPiece(piece: Uint8Array): void {
    if (this.#ended) return;
    const shown = this.#pass(piece);
    if (shown === undefined || this.#passer.stopped) this.#breakOff(shown);
    else this.#give(shown);
  }

  onEnd(ending: StreamEnding): void {
    if (this.#ended) return;
    this.#gatewayStopped = ending === "gateway_stopped";
    const shown = ending === "whole" ? this.#pass(undefined) : undefined;
    if (shown !== undefined && !this.#meter.told)
      this.#noteBugOf(() => this.#meter.add(this.#rules.readEnd?.() ?? [], []));
    if (shown === undefined) this.#breakOff();
    else this.#end(shown, this.#meter.told ? "whole" : "early");
  }

  /** What is shown of the frames that are complete with this piece, or of the rest; undefined where they cannot be read. */
  #pass(piece: Uint8Array | undefined): Uint8Array | undefined {
    try {
      return this.#passer.pass(piece ? this.#cutter.push(piece) : this.#cutter.rest());
    } catch (error) {
      // Only an event without end is the upstream's doing; whatever else is thrown here is a bug of ours.
      if (!(error instanceof FrameTooLong)) this.#bug ??= { error };
      return undefined;
    }
  }

  /** A taker that fails gets no more: whoever pushed the piece sees to that. */
  #give(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    try {
      this.#taker?.onPiece(bytes);
    } catch (error) {
      this.#bug ??= { error };
      throw error;
    }
  }

  // The upstream broke off, fell silent, was left, or sent an event without end or one to withhold: the caller's stream ends
  // here too, and says so, because half an answer must not look like a whole one.
  #breakOff(shown: Uint8Array = nothing): void {
    this.#ended = true;
    this.#stream.leave();
    const cut = this.#gatewayStopped ? "gateway_stopped" : "cut";
    this.#end(shown, this.#meter.told ? "whole" : cut);
  }

  #end(shown: Uint8Array, ending: ShownEnding): void {
    this.#ended = true;
    this.#cutter.close();
    this.#noteBugOf(() => {
      this.#give(finished(shown));
      this.#give(Buffer.from(this.#rules.end(ending)));
    });
    this.#taker?.onEnd();
  }

  /** Whatever fails on the way, the end is told: money is held until it is. */
  #noteBugOf(last: () => void): void {
    try {
      last();
    } catch (error) {
      this.#bug ??= { error };
    }
  }
}

const nothing = new Uint8Array();

/** A vendor may end without the blank line that ends an event; whatever is said after it would be taken for a part of it. */
const finished = (shown: Uint8Array): Uint8Array =>
  shown.length === 0 || endsInBlankLine.test(Buffer.from(shown.slice(-4)).toString("latin1"))
    ? shown
    : Buffer.concat([shown, blankLine]);

const endsInBlankLine = /(?:\n\n|\n\r\n|\r\r)$/;
const blankLine = Buffer.from("\n\n");
