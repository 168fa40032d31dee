import type { Quantities } from "../prices/quantities.ts";

/** What the adapter read about tokens in a 2xx answer. */
export interface TokenReading {
  /** Undefined when the answer says nothing about usage; an explicit 0 is a figure. */
  readonly used: Quantities | undefined;
  /** What the answer itself suggests was used, for when it reports nothing; undefined when it delivered no output. */
  readonly estimate: Quantities | undefined;
  /** There is output that the estimate has no measure for, such as an image: then it is no less than what was expected. */
  readonly isUncounted?: boolean;
  /** The vendor says that it did not come to the end of its answer. */
  readonly gaveUp?: boolean;
  /** By which name the answer calls its model, where it does. */
  readonly model?: string | undefined;
  /** Figures that were negative, fractional or absurd and had to be bent into range; a reason to stop that nobody knows. */
  readonly anomalies: readonly string[];
  /** How many there were, where not all of them are named. */
  readonly anomalyCount?: number;
}
