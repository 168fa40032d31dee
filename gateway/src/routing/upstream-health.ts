import type { Upstream } from "../operation/upstream.ts";
import type { PauseReason, Verdict } from "./verdict.ts";

/** How a call is let through to an upstream: like any other, or as the one trial of an upstream that was paused. */
export type Pass = "usual" | "trial";

/**
 * A circuit breaker for each upstream, by name. Invariants: every `enter` that is not "paused" is followed by one
 * `leave`; while an upstream is paused nobody enters; after the pause one trial at a time does, until one works or begins to
 * stream.
 */
export interface UpstreamHealth {
  /** Whether others should be asked first at this moment: it is paused, or was busy just now. */
  readonly isResting: (name: string) => boolean;
  readonly enter: (name: string) => Pass | "paused";
  readonly leave: (upstream: Upstream, pass: Pass, verdict: Verdict) => void;
  /**
   * The head of a stream came. The upstream serves, so the pause ends now: streams may last for minutes. Whether it works
   * is known at the stream's end; gives the pass to leave with.
   */
  readonly streams: (name: string, pass: Pass) => Pass;
  /** When to come back to an upstream that is paused, and why it is. */
  readonly waitFor: (name: string) => Wait;
}

interface Wait {
  readonly retryInMs: number;
  readonly why: PauseReason;
  /** Then it is tried again, although waiting does not help. */
  readonly outOfCredit?: true | undefined;
  /** It did not ask for a pause: it failed, maybe only on one caller's calls, and the pause is our own guess. */
  readonly guessed?: true | undefined;
}

/** One failure is an accident; so many in a row, without a single answer between them, are not. */
export const failuresToPause = 5;
/** The pause after failures. Each trial that fails doubles it. */
export const firstPauseMs = 5_000;
/** No pause is longer, whatever Retry-After says: a trial costs one call, a dead upstream costs them all. */
const pauseMsMax = 60_000;
/** A trial that takes longer keeps nobody from trying: answers of models may take minutes. */
const trialMsMax = 10_000;

/** A busy upstream that does not say for how long rests this long while there are others; alone it is asked on. */
const busyRestMs = 1_000;

/** Only upstreams that failed once have one, so there are no more than the configuration names. */
interface Circuit {
  failures: number;
  /** Undefined while calls go through. */
  pausedUntilMs: number | undefined;
  pauseMs: number;
  why: PauseReason;
  outOfCredit: true | undefined;
  guessed: true | undefined;
  trialUntilMs: number;
  busyUntilMs: number;
}

export function createUpstreamHealth(monotonicMs: () => number): UpstreamHealth {
  const circuits = new Map<string, Circuit>();

  const addCircuit = (name: string): Circuit => {
    const circuit: Circuit = {
      failures: 0,
      pausedUntilMs: undefined,
      pauseMs: 0,
      why: "failing",
      outOfCredit: undefined,
      guessed: undefined,
      trialUntilMs: 0,
      busyUntilMs: 0,
    };
    circuits.set(name, circuit);
    return circuit;
  };

  /** When somebody may enter again: at the end of the pause, or of the trial that follows it. */
  const nextEntryMs = ({ pausedUntilMs, trialUntilMs }: Circuit): number =>
    pausedUntilMs === undefined ? 0 : Math.max(pausedUntilMs, trialUntilMs);

  const pause = (circuit: Circuit, pauseMs: number, cause: Omit<Wait, "retryInMs">): void => {
    const untilMs = monotonicMs() + Math.min(pauseMs, pauseMsMax);
    if (untilMs >= (circuit.pausedUntilMs ?? 0)) {
      circuit.why = cause.why;
      circuit.outOfCredit = cause.outOfCredit;
      circuit.guessed = cause.guessed;
    }
    circuit.pausedUntilMs = Math.max(untilMs, circuit.pausedUntilMs ?? 0);
  };

  const trust = (circuit: Circuit, pass: Pass): void => {
    // An answer to a call from before the pause does not end it.
    if (circuit.pausedUntilMs !== undefined && pass !== "trial") return;
    circuit.failures = 0;
    circuit.pausedUntilMs = undefined;
    circuit.pauseMs = 0;
  };

  const fail = (circuit: Circuit, pass: Pass): void => {
    circuit.failures++;
    // Calls that were under way when the pause began say nothing new.
    if (circuit.pausedUntilMs !== undefined && pass !== "trial") return;
    if (pass !== "trial" && circuit.failures < failuresToPause) return;
    circuit.pauseMs = circuit.pauseMs === 0 ? firstPauseMs : Math.min(circuit.pauseMs * 2, pauseMsMax);
    pause(circuit, circuit.pauseMs, { why: "failing", guessed: true });
  };

  return {
    isResting: (name) => {
      const circuit = circuits.get(name);
      return circuit !== undefined && Math.max(nextEntryMs(circuit), circuit.busyUntilMs) > monotonicMs();
    },
    enter: (name) => {
      const circuit = circuits.get(name);
      if (circuit?.pausedUntilMs === undefined) return "usual";
      const nowMs = monotonicMs();
      if (nextEntryMs(circuit) > nowMs) return "paused";
      // A rate-limited upstream works, so its trial may be short; only a failing one has to prove itself.
      circuit.trialUntilMs = nowMs + (circuit.why === "rate_limited" ? busyRestMs : trialMsMax);
      return "trial";
    },
    streams: (name, pass) => {
      const circuit = circuits.get(name);
      if (pass !== "trial" || !circuit) return pass;
      circuit.trialUntilMs = 0;
      circuit.pausedUntilMs = undefined;
      // For one that was failing this is only a beginning: the next stream that breaks off pauses it again, and for longer.
      if (circuit.why === "failing") circuit.failures = failuresToPause - 1;
      // The trial is over: whatever the stream's end says, it may be older than the next pause.
      return "usual";
    },
    leave: ({ name, sandbox }, pass, verdict) => {
      // The sandbox is part of this installation and its faults are ordered: there is nobody to spare.
      if (sandbox) return;
      const { kind } = verdict;
      const known = circuits.get(name);
      if (!known && (kind === "works" || kind === "unused")) return;
      const circuit = known ?? addCircuit(name);
      if (pass === "trial") circuit.trialUntilMs = 0;
      if (kind === "works" || kind === "busy") trust(circuit, pass);
      if (kind === "busy") circuit.busyUntilMs = monotonicMs() + busyRestMs;
      if (kind === "fails") fail(circuit, pass);
      if (kind === "asks_to_wait") pause(circuit, verdict.waitMs, verdict);
    },
    waitFor: (name) => {
      const circuit = circuits.get(name);
      // Nobody knows when a trial ends, so only the pause counts.
      const retryInMs = Math.max(0, (circuit?.pausedUntilMs ?? 0) - monotonicMs());
      const { why = "failing", outOfCredit, guessed } = circuit ?? {};
      return { retryInMs, why, outOfCredit, guessed };
    },
  };
}
