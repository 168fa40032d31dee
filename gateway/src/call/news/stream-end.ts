import { callerLeft, callerStalled, gatewayStopped, type AttemptOutcome } from "../../ledger/call-record.ts";
import type { StreamRelay } from "../../operation/stream-relay.ts";
import { unused, verdictOf, verdictOfStream, type StreamEnd } from "../../routing/verdict.ts";
import type { Gate } from "../gate.ts";
import type { AttemptedStream } from "../steps/forward.ts";
import { countAttempt, logRejection } from "./note-attempt.ts";

/** A stream as whoever passes it on has seen it so far. */
export interface SeenStream {
  readonly relay: StreamRelay;
  readonly callerLeft: boolean;
  /** It left before all of the answer had come; many close once they have what they wanted. */
  readonly leftEarly: boolean;
  /** The caller kept the upstream waiting for long, or until the end: if it broke off, that may be the caller's doing. */
  readonly callerStalled: boolean;
}

/** The last attempt was written down at the head of the stream; receipts say how it went on, and until when. */
export function attemptedToItsEnd(
  attempted: AttemptedStream,
  seen: SeenStream,
  { clock }: Gate,
): AttemptedStream {
  const { attempts } = attempted;
  const ended = attempts.map((attempt, at) =>
    at === attempts.length - 1
      ? { ...attempt, outcome: outcomeOf(seen), ended_at_ms: clock.wallMs() }
      : attempt,
  );
  return { ...attempted, attempts: ended };
}

/** Tells those who choose upstreams, and the operator, what the end of a stream says of the one it came from. */
export function judgeUpstream({ upstream, pass }: AttemptedStream, seen: SeenStream, gate: Gate): void {
  const end = endOf(seen);
  const { refused } = seen.relay.read();
  // A refusal inside a stream says the same about its upstream as one in place of a stream; a bug of ours says nothing.
  const verdictOfEnd = seen.relay.bug ? unused : verdictOfStream(end);
  gate.health.leave(upstream, pass, refused ? verdictOf(refused) : verdictOfEnd);
  if (refused) logRejection(refused, upstream, gate);
  countAttempt(upstream, end === "whole" || end === "left" ? "streaming" : end, gate);
}

const outcomeOf = (seen: SeenStream): AttemptOutcome => (seen.leftEarly ? callerLeft : outcomes[endOf(seen)]);

/**
 * As receipts say it. A caller who leaves before the end is told apart above, so here `left` means that the caller had
 * stopped reading.
 */
const outcomes: Readonly<Record<StreamEnd, AttemptOutcome>> = {
  whole: "streaming",
  gave_up: "gave_up",
  broke_off: "broke_off",
  gateway_stopped: gatewayStopped,
  left: callerStalled,
};

function endOf(seen: SeenStream): StreamEnd {
  const { complete, told, gatewayStopped: isCutHere } = seen.relay.read();
  if (complete) return "whole";
  if (told) return "gave_up";
  if (isCutHere) return gatewayStopped;
  // A caller who leaves, or does not read, keeps the upstream from its end: that must not count against it.
  return seen.callerLeft || seen.callerStalled ? "left" : "broke_off";
}
