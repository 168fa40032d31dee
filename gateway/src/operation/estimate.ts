import type { Quantities } from "../prices/quantities.ts";

/** Before the call: what it will probably use, and the most it can use. */
export interface Estimate {
  readonly expected: Quantities;
  readonly atMost: Quantities;
  /** What counts against tokens per minute until the real figure is known. */
  readonly tokens?: number;
  /** What of the most a caller can make less by writing a smaller limit; whoever cannot pay for the most hears of it. */
  readonly limited?: LimitedAnswer | undefined;
}

/** The answer itself, without what is thought or guessed beside it, which its limit does not bound. */
interface LimitedAnswer {
  /** The member that limits it, in the caller's own spelling. */
  readonly by: string;
  readonly unit: string;
  readonly tokens: number;
  /** What remains where this member alone is as small as it can be. */
  readonly leastTokens: number;
}
