import type { BarName } from "../bars.ts";

/** What one study found out. */
export interface Chapter {
  readonly tables: readonly Table[];
  readonly findings: Findings;
}

export type Findings = Partial<Record<BarName, Finding>>;

/** What was measured for a bar. */
export interface Finding {
  /** Round by round, or one of medians; none when a side was not measured, which is not a pass. */
  readonly ratios: readonly number[];
  /** Why this is not what the bar is about, although something was measured; that is not a pass either. */
  readonly notShown?: string | undefined;
  /** Why the bar is missed whatever the ratio is. */
  readonly missedFor?: string;
  /** What was compared, where the bar leaves that open. */
  readonly compared?: string;
}

export interface Table {
  readonly title: string;
  /** What was asked of whom, and what it shows, in a sentence or two. */
  readonly note: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** The figures worth drawing; none when absent. */
  readonly plot?: Plot;
}

export interface Plot {
  readonly unit: string;
  readonly marks: readonly Mark[];
  /** Where the bar lies that ours must stay below, by what it is compared with in this run. */
  readonly limit?: { readonly value: number; readonly label: string } | undefined;
}

/** One contestant's figure over all rounds. */
export interface Mark {
  readonly name: string;
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** Two decimals where they matter. */
export const readable = (value: number): string => {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return Number(value.toFixed(Math.abs(value) >= 10 ? 1 : 2)).toString();
};
