import type { Deadline } from "../platform/deadlines.ts";
import { describeError } from "../platform/log.ts";
import { createPacedBody, type Reader } from "../platform/paced-body.ts";
import type { Admission } from "./admit.ts";
import type { Answer } from "./call.ts";
import type { Attempted } from "./forward.ts";
import type { Gate } from "./gate.ts";
import { meterStream } from "./meter.ts";
import type { BookedCall } from "./paid-call.ts";
import { bookEnd } from "./settle.ts";

/** Proxies and clients give up on silence; a ping says that somebody is still there. */
const pingAfterMs = 10_000;
/** Should the process die in the middle, the stream costs what it had delivered by then, give or take this time. */
const progressEveryMs = 2_000;
/** A caller who left is still owed an exact bill, but not for ever, and not any number of them at once. */
const drainMsMax = 120_000;

/**
 * Passes a stream on as the caller reads it, settles when it has ended, and closes only then. A caller who
 * leaves changes nothing about what was used: the upstream's policy decides whether it is read to its end.
 */
export function streamAnswer(
  paid: BookedCall,
  attempted: Attempted,
  { freeSlot, used }: Pick<Admission, "freeSlot" | "used">,
  gate: Gate,
): Answer {
  const { exchanged, upstream } = attempted;
  if (exchanged.kind !== "streaming") throw new Error("There is no stream to answer with.");
  const { relay, status, contentType } = exchanged;
  const { dialect = "openai" } = paid.operation.servedBy[upstream.protocol] ?? {};
  const running = gate.begin();
  let hasEnded: (() => void) | undefined;
  const ended = new Promise<void>((resolve) => (hasEnded = resolve));
  let ending: Promise<string> | undefined;

  /** Books the end, once, and says what it cost in the words of the stream. */
  const end = (): Promise<string> => (ending ??= book());
  const book = async (): Promise<string> => {
    try {
      const metered = meterStream(paid, relay, upstream, gate);
      used(metered.used);
      const { chargedMicros } = await bookEnd(paid, attempted, metered, gate);
      paid.call.known.costMicros = chargedMicros;
      return closingComment(paid.call.id, chargedMicros);
    } catch (error) {
      // The books have already arranged for the hold to end; the caller's stream just lacks its last comment.
      gate.log.error("a stream could not be settled", { request_id: paid.call.id, ...describeError(error) });
      return "";
    } finally {
      running();
      hasEnded?.();
    }
  };

  let silence: Deadline | undefined;
  let progress: Deadline | undefined;
  let hasPassed = false;
  const noteProgress = (): void => {
    if (progress) gate.deadlines.move(progress, progressEveryMs);
    if (!hasPassed) return;
    hasPassed = false;
    const { used: known, estimate } = relay.read().tokens;
    const expected = paid.priced.estimate.expected["input_tokens"] ?? 0;
    gate.ledger.noteProgress(paid.call.id, known ?? { input_tokens: expected, ...estimate });
  };

  let caller: Reader | undefined;
  let callerLeft = false;
  let hasStarted = false;
  const upstreamEnded = Promise.withResolvers<void>();
  /** The upstream's stream has ended, or nobody reads it any more. */
  const over = Promise.withResolvers<void>();

  const start = (): void => {
    if (hasStarted) return;
    hasStarted = true;
    relay.start({
      onPiece: pass,
      onEnd: () => {
        upstreamEnded.resolve();
        over.resolve();
      },
    });
  };

  const pass = (piece: Uint8Array): void => {
    if (!caller) return;
    let behind: Promise<unknown> | undefined;
    try {
      behind = caller.send(piece);
    } catch {
      goOnWithoutCaller();
      return;
    }
    if (!behind) {
      awaitMore();
      return;
    }
    // Nothing is read ahead: the upstream goes no faster than the caller reads.
    relay.pause();
    if (silence) gate.deadlines.end(silence);
    behind
      .then(() => {
        awaitMore();
        relay.resume();
      })
      .catch(goOnWithoutCaller);
  };

  /** The caller has taken what came so far. */
  const awaitMore = (): void => {
    if (!silence || !caller) return;
    hasPassed = true;
    gate.deadlines.move(silence, pingAfterMs);
  };

  const passOn = async (reader: Reader): Promise<void> => {
    const ping = pings[dialect];
    const fill = (): void => {
      if (silence) gate.deadlines.move(silence, pingAfterMs);
      if (ping !== "") reader.send(ping)?.catch(noop);
    };
    silence = gate.deadlines.set(pingAfterMs, fill);
    progress = gate.deadlines.set(progressEveryMs, noteProgress);
    caller = reader;
    start();
    await over.promise;
    stopWatching();
    if (callerLeft) return;
    const comment = await end();
    if (comment !== "" && commentsWelcome[dialect]) await reader.send(comment);
  };

  const stopWatching = (): void => {
    if (silence) gate.deadlines.end(silence);
    if (progress) gate.deadlines.end(progress);
    silence = undefined;
    progress = undefined;
  };

  const goOnWithoutCaller = (): void => {
    if (callerLeft) return;
    callerLeft = true;
    caller = undefined;
    stopWatching();
    over.resolve();
    relay.pause();
    // The place is the caller's, and the caller has left it; reading on is our own affair.
    freeSlot().then(finishWithoutCaller).then(end).catch(noop);
  };

  /** Nobody takes the pieces any more; where the policy is to read on, they are only counted. */
  const finishWithoutCaller = async (): Promise<void> => {
    const endDrain = upstream.onCallerLeft === "drain" ? gate.beginDrain() : undefined;
    if (endDrain) relay.resume();
    else relay.leave();
    start();
    const patience = setTimeout(relay.leave, drainMsMax);
    await upstreamEnded.promise;
    clearTimeout(patience);
    endDrain?.();
  };

  const body = createPacedBody({
    // A caller to whom nothing can be sent has left, whoever notices first.
    write: (reader) => passOn(reader).catch(goOnWithoutCaller),
    cancel: goOnWithoutCaller,
  });
  return { status, contentType, body, ended };
}

const noop = (): void => {};

const pings = {
  openai: ": ping\n\n",
  anthropic: 'event: ping\ndata: {"type": "ping"}\n\n',
  // Not every client of Google's skips comments: some take each line for data. Silence is left silent.
  gemini: "",
} as const;

const commentsWelcome = { openai: true, anthropic: true, gemini: false } as const;

const closingComment = (callId: string, chargedMicros: bigint): string =>
  `: tollgate {"request_id":"${callId}","cost_micros_usd":${chargedMicros}}\n\n`;
