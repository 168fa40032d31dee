import type { Exchanged } from "../operation/exchanged.ts";
import type { Upstream } from "../operation/upstream.ts";

/** How a call is let through: like any other, as the one trial of an upstream that was paused, or not at all. */
export type Admittance = "free" | "trial" | "paused";

/** What an attempt says about its upstream; `unused` when the attempt never took place. */
export type Verdict =
  | { readonly kind: "works" }
  | { readonly kind: "busy" }
  | { readonly kind: "unused" }
  | { readonly kind: "fails"; readonly because: string }
  | {
      readonly kind: "asks_to_wait";
      readonly waitMs: number;
      readonly why: PauseReason;
      readonly because: string;
      readonly outOfCredit?: true | undefined;
    };

type PauseReason = "failing" | "rate_limited";

/**
 * A circuit breaker for each upstream, by name. Invariants: every `enter` that is not "paused" is followed by one
 * `leave`; while an upstream is paused nobody enters; after the pause one trial at a time does, until one works or begins to
 * stream.
 */
export interface UpstreamHealth {
  /** Whether others should be asked first at this moment: it is paused, or was busy just now. */
  readonly isResting: (name: string) => boolean;
  readonly enter: (name: string) => Admittance;
  readonly leave: (upstream: Upstream, entry: Admittance, verdict: Verdict) => void;
  /**
   * The head of a stream came: it serves, so that the pause ends now, because streams may last for minutes. Whether it
   * works its end will tell; gives the entry to leave with.
   */
  readonly streams: (name: string, entry: Admittance) => Admittance;
  /** When to come back to an upstream that is paused, and why it is. */
  readonly waitFor: (name: string) => Wait;
}

interface Wait {
  readonly retryInMs: number;
  readonly why: PauseReason;
  /** Then it is tried again all the same, but nothing gets better by waiting. */
  readonly outOfCredit?: true | undefined;
}

interface HealthRules {
  /** One failure is an accident; so many in a row, without a single answer between them, are not. */
  readonly failuresToPause: number;
  /** The pause after failures. Each trial that fails doubles it. */
  readonly firstPauseMs: number;
  /** Nobody is left alone longer, whatever Retry-After says: a trial costs one call, a dead upstream costs them all. */
  readonly pauseMsMax: number;
  /** A trial that takes longer keeps nobody from trying: answers of models may take minutes. */
  readonly trialMsMax: number;
}

export const usualRules: HealthRules = {
  failuresToPause: 5,
  firstPauseMs: 5_000,
  pauseMsMax: 60_000,
  trialMsMax: 10_000,
};

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
  trialUntilMs: number;
  busyUntilMs: number;
}

export function createUpstreamHealth(
  monotonicMs: () => number,
  changes: Partial<HealthRules> = {},
): UpstreamHealth {
  const rules = { ...usualRules, ...changes };
  const circuits = new Map<string, Circuit>();

  const addCircuit = (name: string): Circuit => {
    const circuit: Circuit = {
      failures: 0,
      pausedUntilMs: undefined,
      pauseMs: 0,
      why: "failing",
      outOfCredit: undefined,
      trialUntilMs: 0,
      busyUntilMs: 0,
    };
    circuits.set(name, circuit);
    return circuit;
  };

  /** When somebody may enter again: at the end of the pause, or of the trial that follows it. */
  const nextEntryMs = ({ pausedUntilMs, trialUntilMs }: Circuit): number =>
    pausedUntilMs === undefined ? 0 : Math.max(pausedUntilMs, trialUntilMs);

  const pause = (circuit: Circuit, pauseMs: number, why: PauseReason, outOfCredit?: true): void => {
    const untilMs = monotonicMs() + Math.min(pauseMs, rules.pauseMsMax);
    if (untilMs >= (circuit.pausedUntilMs ?? 0)) {
      circuit.why = why;
      circuit.outOfCredit = outOfCredit;
    }
    circuit.pausedUntilMs = Math.max(untilMs, circuit.pausedUntilMs ?? 0);
  };

  const trust = (circuit: Circuit, entry: Admittance): void => {
    // An answer to a call from before the pause does not end it.
    if (circuit.pausedUntilMs !== undefined && entry !== "trial") return;
    circuit.failures = 0;
    circuit.pausedUntilMs = undefined;
    circuit.pauseMs = 0;
  };

  const fail = (circuit: Circuit, entry: Admittance): void => {
    circuit.failures++;
    // Calls that were under way when the pause began say nothing new.
    if (circuit.pausedUntilMs !== undefined && entry !== "trial") return;
    if (entry !== "trial" && circuit.failures < rules.failuresToPause) return;
    circuit.pauseMs =
      circuit.pauseMs === 0 ? rules.firstPauseMs : Math.min(circuit.pauseMs * 2, rules.pauseMsMax);
    pause(circuit, circuit.pauseMs, "failing");
  };

  return {
    isResting: (name) => {
      const circuit = circuits.get(name);
      return circuit !== undefined && Math.max(nextEntryMs(circuit), circuit.busyUntilMs) > monotonicMs();
    },
    enter: (name) => {
      const circuit = circuits.get(name);
      if (circuit?.pausedUntilMs === undefined) return "free";
      const nowMs = monotonicMs();
      if (nextEntryMs(circuit) > nowMs) return "paused";
      // A busy upstream works, its next answer may just take long; only of a failing one is it the question.
      circuit.trialUntilMs = nowMs + (circuit.why === "rate_limited" ? busyRestMs : rules.trialMsMax);
      return "trial";
    },
    streams: (name, entry) => {
      const circuit = circuits.get(name);
      if (entry !== "trial" || !circuit) return entry;
      circuit.trialUntilMs = 0;
      circuit.pausedUntilMs = undefined;
      // Of one that was failing this is no more than a beginning: the next to break off pauses it again, and for longer.
      if (circuit.why === "failing") circuit.failures = rules.failuresToPause - 1;
      // The trial is over: whatever the stream's end says, it may be older than the next pause.
      return "free";
    },
    leave: ({ name, sandbox }, entry, verdict) => {
      // The sandbox is part of this installation and its faults are ordered: there is nobody to spare.
      if (sandbox) return;
      const { kind } = verdict;
      const known = circuits.get(name);
      if (!known && (kind === "works" || kind === "unused")) return;
      const circuit = known ?? addCircuit(name);
      if (entry === "trial") circuit.trialUntilMs = 0;
      if (kind === "works" || kind === "busy") trust(circuit, entry);
      if (kind === "busy") circuit.busyUntilMs = monotonicMs() + busyRestMs;
      if (kind === "fails") fail(circuit, entry);
      if (kind === "asks_to_wait") pause(circuit, verdict.waitMs, verdict.why, verdict.outOfCredit);
    },
    waitFor: (name) => {
      const circuit = circuits.get(name);
      // Nobody knows when a trial ends, so only the pause counts.
      const retryInMs = Math.max(0, (circuit?.pausedUntilMs ?? 0) - monotonicMs());
      return { retryInMs, why: circuit?.why ?? "failing", outOfCredit: circuit?.outOfCredit };
    },
  };
}

const works: Verdict = { kind: "works" };
const busy: Verdict = { kind: "busy" };
export const unused: Verdict = { kind: "unused" };

/** Whoever answers works, also when it refuses the call or our key: neither gets better by waiting. */
export function verdictOf(exchanged: Exchanged): Verdict {
  switch (exchanged.kind) {
    case "no_answer":
      return { kind: "fails", because: exchanged.reason };
    case "rate_limited": {
      const { retryAfterSeconds } = exchanged;
      if (exchanged.outOfCredit === true) return withoutCredit("rate_limited", retryAfterSeconds);
      if (retryAfterSeconds === undefined) return busy;
      const waitMs = retryAfterSeconds * 1000;
      return { kind: "asks_to_wait", waitMs, why: "rate_limited", because: "rate_limited" };
    }
    case "answered": {
      const { hiddenFailure, retryAfterSeconds } = exchanged;
      if (hiddenFailure === "malformed") return { kind: "fails", because: hiddenFailure };
      const status = hiddenFailure ?? exchanged.status;
      // One inside an answer of success; any other 429 is no answer that is passed on.
      if (status === 429) return busy;
      if (status < 500) return works;
      const because = `status ${status}`;
      if (retryAfterSeconds === undefined) return { kind: "fails", because };
      return { kind: "asks_to_wait", waitMs: retryAfterSeconds * 1000, why: "failing", because };
    }
    case "key_rejected":
      return exchanged.outOfCredit === true ? withoutCredit("failing") : works;
    case "streaming":
    case "link_rejected":
      return works;
  }
}

/** Money does not come by itself; a trial in so long costs one call, and finds what was paid in meanwhile. */
export const creditPauseSeconds = 60;

const withoutCredit = (why: PauseReason, seconds = creditPauseSeconds): Verdict => ({
  kind: "asks_to_wait",
  waitMs: seconds * 1000,
  why,
  because: "out_of_credit",
  outOfCredit: true,
});

/** How a stream ended, as far as its upstream can be blamed for it. */
export type StreamEnd = "whole" | "gave_up" | "broke_off" | "left";

/** A stream shows only at its end whether its upstream works: one that breaks every stream it begins does not. */
export function verdictOfStream(end: StreamEnd): Verdict {
  if (end === "whole") return works;
  // What the vendor said itself may be about the call, and whoever was left could not end.
  return end === "broke_off" ? { kind: "fails", because: end } : unused;
}
