import type { Judged, Table } from "./chapter.ts";
import { readable } from "./chapter.ts";

export interface Report {
  readonly machine: string;
  readonly commit: string;
  readonly date: string;
  /** Processes that wanted to run when the measuring began, without ours. */
  readonly load: number;
  readonly minutes: number;
  readonly bars: readonly Judged[];
  readonly tables: readonly Table[];
}

export function markdownOf(report: Report, plotFile: string | undefined): string {
  return [
    "# What the gate costs",
    `Commit ${report.commit}, ${report.date}. ${report.machine}. Load before the run: ${report.load.toFixed(2)}. Measured in ${report.minutes.toFixed(0)} minutes.`,
    "Ratios compare contestants within this run and are what is judged; absolute figures belong to this machine. A figure is the median over interleaved rounds, in parentheses the least and the most. CPU is user and system time of the contestant's own processes.",
    "## Bars",
    barTable(report.bars),
    ...(plotFile === undefined ? [] : [`![CPU by contestant](${plotFile})`]),
    ...report.tables.flatMap((table) => [
      `## ${table.title}`,
      table.note,
      tableText(table.columns, table.rows),
    ]),
    "",
  ].join("\n\n");
}

export const barTable = (bars: readonly Judged[]): string =>
  tableText(
    ["", "ratio", "bar", ""],
    bars.map(({ promise, ratio, limit, holds }) => [
      promise,
      ratio === undefined ? "not measured" : readable(ratio),
      limit,
      holds ? "pass" : "**FAIL**",
    ]),
  );

/** Columns are padded, so that the source reads as well as the page. */
export function tableText(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map((column, at) =>
    Math.max(3, column.length, ...rows.map((row) => (row[at] ?? "").length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, at) => (at === 0 ? (cells[at] ?? "").padEnd(width) : (cells[at] ?? "").padStart(width))).join(" | ")} |`;
  const rule = widths.map((width, at) => (at === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`));
  return [line(columns), line(rule), ...rows.map(line)].join("\n");
}
