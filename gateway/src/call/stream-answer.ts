import type { Quantities } from "../operation/quantities.ts";
import type { StreamRelay } from "../operation/upstream.ts";
import { describeError } from "../platform/log.ts";
import { createPacedBody, type Reader } from "../platform/paced-body.ts";
import { watchSilence, type SilenceWatch } from "../platform/silence-watch.ts";
import type { Admission } from "./admit.ts";
import type { Answer } from "./call.ts";
import type { Attempted } from "./forward.ts";
import type { Gate } from "./gate.ts";
import { meter } from "./meter.ts";
import type { PaidCall } from "./paid-call.ts";
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
  paid: PaidCall,
  attempted: Attempted,
  admission: Admission,
  used: (quantities: Quantities) => void,
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
      const metered = meter(paid, attempted, gate);
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

  let notedAtMs = gate.clock.monotonicMs();
  const noteProgress = (nowMs: number): void => {
    if (nowMs - notedAtMs < progressEveryMs) return;
    notedAtMs = nowMs;
    const { used: known, estimate } = relay.read().tokens;
    const expected = paid.priced.estimate.expected["input_tokens"] ?? 0;
    gate.ledger.noteProgress(paid.call.id, known ?? { input_tokens: expected, ...estimate });
  };

  let callerLeft = false;
  let pending: Promise<Uint8Array | undefined> | undefined;
  let silence: SilenceWatch | undefined;

  const passOn = async (caller: Reader): Promise<void> => {
    const ping = pings[dialect];
    silence = watchSilence(
      pingAfterMs,
      () => {
        if (ping !== "") caller.send(ping)?.catch(() => {});
      },
      gate.clock,
    );
    while (!callerLeft) {
      // What the piece before delivered, once the caller has taken it.
      noteProgress(silence.wait());
      pending = relay.next();
      const piece = await pending;
      pending = undefined;
      silence.heard();
      if (callerLeft || piece === undefined) break;
      // Nothing is read ahead: the upstream goes no faster than the caller reads.
      const behind = caller.send(piece);
      if (behind) await behind;
    }
    silence.end();
    if (callerLeft) return;
    const comment = await end();
    if (comment !== "" && commentsWelcome[dialect]) await caller.send(comment);
  };

  const goOnWithoutCaller = (): void => {
    if (callerLeft) return;
    callerLeft = true;
    silence?.end();
    // The place is the caller's, and the caller has left it; reading on is our own affair.
    admission
      .freeSlot()
      .then(() => finishWithoutCaller(relay, pending, upstream.onCallerLeft, gate))
      .then(end)
      .catch(() => {});
  };

  const body = createPacedBody({
    // A caller to whom nothing can be sent has left, whoever notices first.
    write: (caller) => passOn(caller).catch(goOnWithoutCaller),
    cancel: goOnWithoutCaller,
  });
  return { status, contentType, body, ended };
}

async function finishWithoutCaller(
  relay: StreamRelay,
  pending: Promise<unknown> | undefined,
  policy: "drain" | "abort",
  gate: Gate,
): Promise<void> {
  const endDrain = policy === "drain" ? gate.beginDrain() : undefined;
  if (!endDrain) relay.leave();
  const patience = setTimeout(relay.leave, drainMsMax);
  try {
    await pending;
    while ((await relay.next()) !== undefined);
  } finally {
    clearTimeout(patience);
    endDrain?.();
  }
}

const pings = {
  openai: ": ping\n\n",
  anthropic: 'event: ping\ndata: {"type": "ping"}\n\n',
  // Not every client of Google's skips comments: some take each line for data. Silence is left silent.
  gemini: "",
} as const;

const commentsWelcome = { openai: true, anthropic: true, gemini: false } as const;

const closingComment = (callId: string, chargedMicros: bigint): string =>
  `: tollgate {"request_id":"${callId}","cost_micros_usd":${chargedMicros}}\n\n`;
