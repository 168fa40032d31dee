import type { Exchanged } from "../operation/exchanged.ts";

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

export type PauseReason = "failing" | "rate_limited";

const works: Verdict = { kind: "works" };
const busy: Verdict = { kind: "busy" };
export const unused: Verdict = { kind: "unused" };

/** Whoever answers works, also when it refuses the call or our key: neither gets better by waiting. */
export function verdictOf(exchanged: Exchanged): Verdict {
  switch (exchanged.kind) {
    case "no_answer":
      if (exchanged.reason === "gateway_stopped") return unused;
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
      // Only a 429 inside an answer with the status of a success comes here; any other is `rate_limited`.
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

/** How a stream ended, as far as its upstream can be blamed for it. */
export type StreamEnd = "whole" | "gave_up" | "broke_off" | "gateway_stopped" | "left";

/** A stream shows only at its end whether its upstream works: one that breaks every stream it begins does not. */
export function verdictOfStream(end: StreamEnd): Verdict {
  if (end === "whole") return works;
  // A vendor that gave up may have done so because of the call, and one that was left, by its caller or by a gateway that stops, could not end.
  return end === "broke_off" ? { kind: "fails", because: end } : unused;
}

/** Waiting brings no money, so an account without credit is tried once in this time: enough to find what was paid in. */
export const creditPauseSeconds = 60;

const withoutCredit = (why: PauseReason, seconds = creditPauseSeconds): Verdict => ({
  kind: "asks_to_wait",
  waitMs: seconds * 1000,
  why,
  because: "out_of_credit",
  outOfCredit: true,
});
