import type { Quantities } from "../prices/quantities.ts";

/** Before the call: what it will probably use, and the most it can use. */
export interface Estimate {
  readonly expected: Quantities;
  readonly atMost: Quantities;
  /** What counts against tokens per minute until the real figure is known. */
  readonly tokens?: number;
}
