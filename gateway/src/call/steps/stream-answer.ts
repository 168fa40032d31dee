import type { StreamRelay, StreamTaker } from "../../operation/stream-relay.ts";
import type { Deadline, Waiting } from "../../platform/deadlines.ts";
import { vendorsDialect } from "../../platform/dialect.ts";
import { streamWords, type StreamWords } from "../../platform/dialect-words.ts";
import { describeError } from "../../platform/log.ts";
import type { PacedBody, Reader } from "../../platform/paced-body.ts";
import type { Answer } from "../call.ts";
import type { AttemptedStream } from "./forward.ts";
import type { Gate } from "../gate.ts";
import { logCall } from "../news/log-call.ts";
import { attemptedToItsEnd, judgeUpstream, type SeenStream } from "../news/stream-end.ts";
import { deliveredSoFar, meterStream } from "./meter.ts";
import type { BookedCall } from "../priced-call.ts";
import { settleStream } from "./settle.ts";
import type { Share } from "../limits/share.ts";

/** How often a stream is noted: should the process die, the stream costs what it had delivered by then, give or take this. */
const beatMs = 2_000;
/** A fast stream is noted sooner: at most this much, about a thousand tokens, is delivered without a note. */
const unnotedBytesMax = 4_000;
/** A long stream is noted again once it has grown by this share, so that the fastest ones do not write too many notes. */
const unnotedShareMax = 1 / 8;
/** Proxies and clients give up on silence; within ten seconds a ping says that somebody is still there. */
const silentBeatsMax = 3;
/** A vendor that is kept waiting this long may give up, and we see that only once the caller reads on. */
const stallMs = 1_000;

/**
 * Passes a stream on as the caller reads it, settles when it has ended, and closes only then. A caller who
 * leaves changes nothing about what was used: the upstream's policy decides whether it is read to its end.
 */
export function streamAnswer(
  booked: BookedCall,
  attempted: AttemptedStream,
  share: Share,
  gate: Gate,
): Answer {
  const { status, contentType } = attempted.exchanged;
  const streamed = new StreamedAnswer(booked, attempted, share, gate);
  return { status, contentType, body: streamed, ended: streamed.ended };
}

/** A class, because thousands may be open at once, and every piece of each comes through here. */
class StreamedAnswer implements PacedBody, StreamTaker, Waiting, SeenStream {
  /** Resolves when the end is booked. */
  readonly ended: Promise<void>;
  readonly relay: StreamRelay;
  callerLeft = false;
  leftEarly = false;
  callerStalled = false;

  readonly #booked: BookedCall;
  readonly #attempted: AttemptedStream;
  readonly #share: Share;
  readonly #gate: Gate;
  /** Call it when the call no longer runs. */
  readonly #done: () => void;
  readonly #resolveEnded: () => void;
  readonly #upstreamEnded = Promise.withResolvers<void>();
  /** The upstream's stream has ended, or nobody reads it any more. */
  readonly #over = Promise.withResolvers<void>();
  #caller: Reader | undefined;
  #hasStarted = false;
  /** The caller has yet to take what was sent, and the upstream is kept waiting. */
  #isBehind = false;
  #ending: Promise<string> | undefined;

  /** Comes again and again until the end. */
  #beat: Deadline | undefined;
  #hasPassedSinceBeat = false;
  #silentBeats = 0;
  #hasToldAttempts = false;
  /** The next note is made once this many bytes are delivered: the first piece is noted at once. */
  #noteFrom = 1;

  constructor(booked: BookedCall, attempted: AttemptedStream, share: Share, gate: Gate) {
    this.#booked = booked;
    this.#attempted = attempted;
    this.relay = attempted.exchanged.relay;
    this.#share = share;
    this.#gate = gate;
    this.#done = gate.begin();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#resolveEnded = resolve;
  }

  async write(reader: Reader): Promise<void> {
    // The caller has left already, and the stream is read to its end without one.
    if (this.callerLeft) return;
    try {
      this.#caller = reader;
      this.#beat = this.#gate.deadlines.set(beatMs, this);
      this.#start();
    } catch (error) {
      // A bug of ours must not leave the call open for ever.
      this.#logError("a stream could not be passed on", error);
      this.#goOnWithoutCaller();
    }
    await this.#over.promise;
    if (this.callerLeft) return;
    const comment = await this.#end();
    if (comment === "" || !this.#words().takesComments) return;
    try {
      await reader.send(comment);
    } catch {
      // Everything else was sent, and is booked: a caller who left before the comment misses nothing.
    }
  }

  onPiece(piece: Uint8Array): void {
    this.#hasPassedSinceBeat = true;
    const behind = this.#send(piece);
    if (behind) this.#waitFor(behind);
    if (this.relay.delivered >= this.#noteFrom) this.#noteProgress();
  }

  onEnd(): void {
    this.callerStalled ||= this.#isBehind;
    this.#upstreamEnded.resolve();
    this.#over.resolve();
  }

  /** The beat. What is done here would cost more than passing a piece, so it is not done with every piece. */
  onMissed(): void {
    if (!this.#beat) return;
    this.#gate.deadlines.move(this.#beat, beatMs);
    if (this.#hasPassedSinceBeat) this.#noteProgress();
    if (!this.#hasToldAttempts) this.#tellAttempts();
    this.#silentBeats = this.#hasPassedSinceBeat || this.#isBehind ? 0 : this.#silentBeats + 1;
    this.#hasPassedSinceBeat = false;
    if (this.#silentBeats < silentBeatsMax) return;
    this.#silentBeats = 0;
    const { ping } = this.#words();
    if (ping !== "") this.#send(ping)?.catch(noop);
  }

  cancel(): void {
    this.#goOnWithoutCaller();
  }

  #start(): void {
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    this.relay.start(this);
  }

  /** Sends nothing to a caller who has left. Where sending fails, the caller has left just now. */
  #send(piece: Uint8Array | string): Promise<unknown> | undefined {
    try {
      return this.#caller?.send(piece);
    } catch {
      this.#goOnWithoutCaller();
      return undefined;
    }
  }

  /** Nothing is read ahead: the upstream goes no faster than the caller reads. */
  #waitFor(behind: Promise<unknown>): void {
    const { monotonicMs } = this.#gate.clock;
    const sinceMs = monotonicMs();
    this.#isBehind = true;
    this.relay.pause();
    behind
      .then(() => {
        this.#isBehind = false;
        this.callerStalled ||= monotonicMs() - sinceMs >= stallMs;
        this.relay.resume();
      })
      .catch(() => this.#goOnWithoutCaller());
  }

  #noteProgress(): void {
    const { delivered: bytes } = this.relay;
    this.#noteFrom = bytes + Math.max(unnotedBytesMax, bytes * unnotedShareMax);
    const delivered = deliveredSoFar(this.#booked, this.relay);
    if (delivered) this.#gate.ledger.noteProgress(this.#booked.call.id, delivered);
  }

  /** Only for a stream that lasts: what was tried for a short one is told with its end. */
  #tellAttempts(): void {
    this.#hasToldAttempts = true;
    this.#gate.openAttempts.set(this.#booked.call.id, this.#attempted.attempts);
  }

  #endBeat(): void {
    if (this.#beat) this.#gate.deadlines.end(this.#beat);
    this.#beat = undefined;
  }

  #goOnWithoutCaller(): void {
    if (this.callerLeft) return;
    this.callerLeft = true;
    this.leftEarly = !this.relay.read().complete;
    this.#caller = undefined;
    this.#over.resolve();
    // Its end is being booked already: nothing is left to read or to note.
    if (this.#ending) return;
    this.relay.pause();
    // What the caller has had, and what is read on for its bill, is owed even if the process dies.
    this.#beat ??= this.#gate.deadlines.set(beatMs, this);
    this.#noteProgress();
    this.#finishWithoutCaller().catch(noop);
  }

  /** Whatever goes wrong, the end is booked. */
  async #finishWithoutCaller(): Promise<void> {
    try {
      await this.#readOnOrLeave();
    } catch (error) {
      this.#logError("a left stream could not be read on", error);
      this.relay.leave();
    }
    await this.#end();
  }

  /**
   * Nobody takes the pieces any more. Where the policy is to read on, they are counted to the end of the stream, because
   * many vendors say only there what was used.
   */
  async #readOnOrLeave(): Promise<void> {
    const readsOn = this.#attempted.upstream.onCallerLeft === "drain";
    const endDrain = readsOn ? this.#gate.drains.begin(this.#booked.caller.keyId) : undefined;
    try {
      if (readsOn) this.relay.resume();
      else this.relay.leave();
      this.#start();
      // The slot is the caller's, who has left; up to a bound we read on without it.
      if (endDrain || !readsOn) this.#freeSlot().catch(noop);
      await this.#upstreamEnded.promise;
    } finally {
      endDrain?.();
    }
  }

  /** If it fails, the end of the call gives the slot back again. */
  async #freeSlot(): Promise<void> {
    try {
      await this.#share.freeSlot();
    } catch (error) {
      this.#logError("the slot of a left stream could not be returned", error);
    }
  }

  /** Books the end, once, and says what it cost in the words of the stream. */
  #end(): Promise<string> {
    return (this.#ending ??= this.#book());
  }

  async #book(): Promise<string> {
    const { call } = this.#booked;
    this.#endBeat();
    const { bug } = this.relay;
    if (bug) this.#logError("a stream could not be read", bug.error);
    try {
      const passed = {
        relay: this.relay,
        upstream: this.#attempted.upstream,
        callerLeft: this.callerLeft,
      };
      const metered = meterStream(this.#booked, passed, this.#gate);
      if (metered.kind === "delivered") this.#share.used(metered.used);
      const { chargedMicros } = await settleStream(
        this.#booked,
        attemptedToItsEnd(this.#attempted, this, this.#gate),
        metered,
        this.#gate,
      );
      call.known.chargedMicros = chargedMicros;
      logCall("stream ended", call, undefined, this.#gate);
      return closingComment(call.id, chargedMicros);
    } catch (error) {
      // It is already arranged that the end is booked later; the caller's stream just lacks its last comment.
      this.#logError("a stream could not be settled", error);
      return "";
    } finally {
      if (this.#hasToldAttempts) this.#gate.openAttempts.delete(call.id);
      this.#done();
      this.#resolveEnded();
      judgeUpstream(this.#attempted, this, this.#gate);
    }
  }

  #logError(what: string, error: unknown): void {
    this.#gate.log.error(what, { request_id: this.#booked.call.id, ...describeError(error) });
  }

  #words(): StreamWords {
    const { upstream } = this.#attempted;
    const { dialect = "openai" } = this.#booked.operation.servedBy[upstream.protocol] ?? {};
    return streamWords[vendorsDialect(dialect)];
  }
}

const noop = (): void => {};

const closingComment = (callId: string, chargedMicros: bigint): string =>
  `: tollgate {"request_id":"${callId}","cost_micros_usd":${chargedMicros}}\n\n`;
