import type { Upstream } from "../operation/upstream.ts";
import { failuresToPause, firstPauseMs, type UpstreamHealth } from "./upstream-health.ts";
import type { Verdict } from "./verdict.ts";

/** What whoever operates the gateway should hear of an upstream: once when trouble begins, once when it is over. */
export type UpstreamNews =
  | {
      readonly kind: "fails" | "asks_to_wait";
      readonly upstream: string;
      /** How the last attempt ended: an outcome, or the status it was answered with. */
      readonly because: string;
      readonly outOfCredit: boolean;
    }
  | { readonly kind: "works_again"; readonly upstream: string; readonly troubledMs: number };

interface Parts {
  readonly monotonicMs: () => number;
  readonly tell: (news: UpstreamNews) => void;
}

/** Only upstreams that failed since they last worked have one. */
interface Trouble {
  readonly sinceMs: number;
  failures: number;
  toldAtMs: number | undefined;
  toldOfCredit: boolean;
}

type Complaint = Extract<Verdict, { readonly because: string }>;

/**
 * Watches what attempts say about upstreams. It does not follow the breaker, which never pauses an upstream that is the
 * only one: the operator should hear of that one all the same.
 */
export function withNews(health: UpstreamHealth, { monotonicMs, tell }: Parts): UpstreamHealth {
  const troubles = new Map<string, Trouble>();

  const begin = (name: string): Trouble => {
    const trouble = { sinceMs: monotonicMs(), failures: 0, toldAtMs: undefined, toldOfCredit: false };
    troubles.set(name, trouble);
    return trouble;
  };

  const hear = ({ name, sandbox }: Upstream, verdict: Verdict): void => {
    if (sandbox || verdict.kind === "unused") return;
    const known = troubles.get(name);
    if (verdict.kind === "works" || verdict.kind === "busy") {
      if (known) hearThatItWorks(name, known);
      return;
    }
    const trouble = known ?? begin(name);
    if (verdict.kind === "fails") trouble.failures++;
    if (!isNews(trouble, verdict)) return;
    trouble.toldAtMs = monotonicMs();
    const outOfCredit = isOutOfCredit(verdict);
    trouble.toldOfCredit ||= outOfCredit;
    tell({ kind: verdict.kind, upstream: name, because: verdict.because, outOfCredit });
  };

  const isNews = (trouble: Trouble, verdict: Complaint): boolean => {
    // Whatever was told before, only the operator can pay, and nothing else says that it is needed.
    if (isOutOfCredit(verdict)) return !trouble.toldOfCredit;
    const { sinceMs, failures, toldAtMs } = trouble;
    if (toldAtMs !== undefined) return false;
    // A failure is an accident, and a vendor that asks for a second now and then would fill the log.
    return verdict.kind === "asks_to_wait"
      ? monotonicMs() + verdict.waitMs - sinceMs >= firstPauseMs
      : failures >= failuresToPause;
  };

  const hearThatItWorks = (name: string, { sinceMs, toldAtMs }: Trouble): void => {
    const nowMs = monotonicMs();
    // Answers to calls from before may still come; taking each for the end would tell of many ends and beginnings.
    if (toldAtMs !== undefined && nowMs - toldAtMs < firstPauseMs) return;
    troubles.delete(name);
    if (toldAtMs !== undefined) tell({ kind: "works_again", upstream: name, troubledMs: nowMs - sinceMs });
  };

  return {
    ...health,
    leave: (upstream, pass, verdict) => {
      health.leave(upstream, pass, verdict);
      hear(upstream, verdict);
    },
  };
}

const isOutOfCredit = (verdict: Complaint): boolean =>
  verdict.kind === "asks_to_wait" && verdict.outOfCredit === true;
