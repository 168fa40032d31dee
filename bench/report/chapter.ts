/** What one study found out. */
export interface Chapter {
  readonly tables: readonly Table[];
  readonly bars: readonly Bar[];
}

export interface Table {
  readonly title: string;
  /** What was asked of whom, in a sentence or two. */
  readonly note: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** The figures worth drawing; none when absent. */
  readonly plot?: Plot;
}

export interface Plot {
  readonly unit: string;
  readonly marks: readonly Mark[];
}

/** One contestant's figure over all rounds. */
export interface Mark {
  readonly name: string;
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** A promise about a ratio within one run. Absolute figures belong to a machine and are never judged. */
export interface Bar {
  readonly promise: string;
  /** Undefined when one of the two sides was not measured, which is not a pass. */
  readonly ratio: number | undefined;
  readonly atMost?: number;
  readonly atLeast?: number;
  /**
   * What continuous integration holds us to, whose rounds are few and whose machine is shared: the bar with room for
   * noise, or, where the bar is not reached yet, about twice what is, so that a doubling is noticed.
   */
  readonly inShort: number;
}

export interface Judged extends Bar {
  readonly limit: string;
  readonly holds: boolean;
}

export function judge(bar: Bar, short: boolean): Judged {
  const ratio = bar.ratio ?? Number.NaN;
  if (bar.atLeast !== undefined) {
    const least = short ? bar.inShort : bar.atLeast;
    return { ...bar, limit: `≥ ${readable(least)}`, holds: ratio >= least };
  }
  const most = short ? bar.inShort : (bar.atMost ?? 0);
  return { ...bar, limit: `≤ ${readable(most)}`, holds: ratio <= most };
}

/** Two decimals where they matter. */
export const readable = (value: number): string => {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return Number(value.toFixed(Math.abs(value) >= 10 ? 1 : 2)).toString();
};
