// What may be sent again, and when. Pure: the rules of the specification as a table of values in and values out.

/** How one attempt ended. */
export type Attempt =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly code?: string;
      readonly retryable?: boolean;
      /** False where the gateway tells every client, in a header, not to send it again by itself. */
      readonly shouldRetry?: boolean;
    }
  /**
   * No complete answer came: the gateway may have done the work, unless nothing reached it. Nothing reaches one that is not
   * trusted.
   */
  | { readonly kind: "no_answer"; readonly neverLeft?: boolean; readonly untrusted?: boolean };

export interface CallNature {
  /** Money may move: what ended in doubt is looked up before it is sent again. */
  readonly billed: boolean;
}

/**
 * `look_up` means: ask the books what became of the call before anything is sent again. `wait_and_look_up` is for
 * a call that is known to be running.
 */
export type Verdict = "done" | "stop" | "send_again" | "look_up" | "wait_and_look_up";

export function judge(attempt: Attempt, { billed }: CallNature): Verdict {
  const inDoubt: Verdict = billed ? "look_up" : "send_again";
  if (attempt.kind === "no_answer") {
    if (attempt.untrusted === true) return "stop";
    return attempt.neverLeft === true ? "send_again" : inDoubt;
  }
  const { status, code = "", retryable, shouldRetry } = attempt;
  if (status < 400) return "done";
  // A refusal by a limit happens before anything is held, and an upstream's 429 before anything is made. Where the
  // operator's account there has no credit left, a person has to see to it, and no wait of ours helps.
  if (status === 429) return shouldRetry === false ? "stop" : "send_again";
  if (status === 409) return code.endsWith("request_in_progress") ? "wait_and_look_up" : "stop";
  if (status === 408) return inDoubt;
  if (status < 500) return "stop";
  if (settingsToMend.has(code) || retryable === false) return "stop";
  return inDoubt;
}

/** Errors that stay until a person changes something: repeating the request does not help. */
const settingsToMend: ReadonlySet<string> = new Set(["unsupported_uri", "billing_config_invalid"]);

/** What the books say about a call whose answer did not arrive. */
export type Found =
  | { readonly kind: "not_found" }
  | { readonly kind: "running" }
  | {
      readonly kind: "ended";
      readonly chargedMicrosUsd: number;
      /** `failed` only where the upstream certainly did; where that is `unknown`, it may have done the work. */
      readonly outcome: "succeeded" | "failed" | "unknown";
    };

export type Decision = "send_again" | "wait_and_look_up" | "answer_lost" | "ended_unpaid";

/**
 * What succeeded was made, whether it cost something or, as under a free plan, nothing.
 * An idempotency key stays with the call that has ended, so a keyed call that failed cannot be had again under its
 * key, and another key would be another operation. A plain GET that cost nothing may be asked again when its upstream
 * certainly failed; where that is in doubt, the upstream may have done it and would do it twice.
 */
export function decide(found: Found, keyed: boolean): Decision {
  if (found.kind === "not_found") return "send_again";
  if (found.kind === "running") return "wait_and_look_up";
  if (found.chargedMicrosUsd > 0 || found.outcome === "succeeded") return "answer_lost";
  return keyed || found.outcome !== "failed" ? "ended_unpaid" : "send_again";
}

/** Delays double up to this, unless the gateway itself asks for more. */
export const delayMaxMs = 30_000;
const delayFirstMs = 500;
const jitter = 0.25;

export interface Delay {
  /** What the next delay doubles. */
  readonly baseMs: number;
  readonly waitMs: number;
}

/** `Retry-After` first, then doubling with ± 25 % jitter, capped; never sooner than the gateway asked for. */
export function nextDelay(
  previous: Delay | undefined,
  retryAfterMs: number | undefined,
  random: () => number,
): Delay {
  const doubled = previous === undefined ? (retryAfterMs ?? delayFirstMs) : previous.baseMs * 2;
  const baseMs = Math.min(delayMaxMs, Math.max(doubled, delayFirstMs));
  const jittered = Math.min(delayMaxMs, baseMs * (1 - jitter + 2 * jitter * random()));
  return { baseMs, waitMs: Math.round(Math.max(jittered, retryAfterMs ?? 0)) };
}
