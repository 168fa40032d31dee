import { bars, type Bar, type BarName } from "../bars.ts";
import { median } from "../rig/statistics.ts";
import { readable, type Findings } from "./chapter.ts";
import { withSpread } from "./round-table.ts";

export interface Judged {
  readonly promise: string;
  readonly ratio: string;
  readonly limit: string;
  readonly verdict: "holds" | "missed" | "not measured" | "not shown";
  /** Why it is not shown, or missed whatever the ratio is. */
  readonly why?: string;
}

/** Every bar of the studies that were to run, measured or not: a study that failed must not hide its bars. */
export const judgeAll = (studies: readonly string[], findings: Findings, short: boolean): Judged[] =>
  Object.entries(bars)
    .filter(([, bar]: [string, Bar]) => studies.includes(bar.study) && limitOf(bar, short) !== undefined)
    .map(([name, bar]) => judge(bar, findings[name as BarName], short));

const limitOf = ({ atMost, atLeast, inShort }: Bar, short: boolean): number | undefined =>
  short ? inShort : (atMost ?? atLeast);

function judge(bar: Bar, finding: Findings[BarName], short: boolean): Judged {
  const limit = limitOf(bar, short) ?? Number.NaN;
  const isFloor = bar.atLeast !== undefined;
  const { ratios = [], notShown, missedFor, compared } = finding ?? {};
  const ratio = median(ratios);
  const said = {
    promise: compared === undefined ? bar.promise : `${bar.promise} (${compared})`,
    ratio: withSpread(ratios),
    limit: `${isFloor ? "≥" : "≤"} ${readable(limit)}`,
  };
  if (missedFor !== undefined) return { ...said, verdict: "missed", why: missedFor };
  // Nothing costs less than nothing: such a figure is noise.
  if (!(ratio > 0)) return { ...said, verdict: "not measured" };
  if (notShown !== undefined) return { ...said, verdict: "not shown", why: notShown };
  return { ...said, verdict: (isFloor ? ratio >= limit : ratio <= limit) ? "holds" : "missed" };
}
