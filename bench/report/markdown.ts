import type { Table } from "./chapter.ts";
import type { Judged } from "./judge.ts";

export interface Report {
  readonly machine: readonly string[];
  readonly commit: string;
  readonly date: string;
  /** Processes that wanted to run when the measuring began, without ours. */
  readonly load: number;
  /** What the databases are written to. */
  readonly disk: string;
  readonly short: boolean;
  readonly studies: readonly StudyRun[];
  readonly bars: readonly Judged[];
  readonly tables: readonly Table[];
}

/** How one study went; without seconds it has not run yet. */
export interface StudyRun {
  readonly name: string;
  readonly seconds?: number;
  readonly failed?: string;
  /** Contestants that did not do the work. */
  readonly leftOut: readonly LeftOut[];
}

export interface LeftOut {
  readonly name: string;
  readonly why: string;
}

export function markdownOf(report: Report, plotFile: string | undefined): string {
  const { studies, bars } = report;
  const minutes = studies.reduce((sum, { seconds = 0 }) => sum + seconds, 0) / 60;
  const notMet = bars.filter(({ verdict }) => verdict !== "holds").length;
  return [
    "# What the gate costs",
    ...warningsOf(studies),
    barTable(bars),
    `${bars.length - notMet} of ${bars.length} bars hold${report.short ? ", by the wider limits of the short form" : ""}. ${ratioNote}`,
    ...(plotFile === undefined ? [] : [`![Cost by contestant and scenario](${plotFile})`]),
    "## The run",
    [
      `- commit ${report.commit}, ${report.date}, ${minutes.toFixed(0)} minutes (${studies.map(({ name, seconds }) => `${name} ${seconds === undefined ? "–" : `${Math.round(seconds)} s`}`).join(", ")})`,
      ...report.machine.map((line) => `- ${line}`),
      `- ${report.disk}`,
      `- load before the run: ${report.load.toFixed(2)}`,
    ].join("\n"),
    ...report.tables.flatMap((table) => [
      `## ${table.title}`,
      table.note,
      tableText(table.columns, table.rows),
    ]),
    "",
  ].join("\n\n");
}

const ratioNote =
  "Only ratios within this run are judged; absolute figures belong to the machine. A figure is the median over interleaved rounds, in parentheses the least and the most. CPU is user and system time of the contestant's own processes.";

/** What a reader must know before any figure. */
function warningsOf(studies: readonly StudyRun[]): string[] {
  const done = studies.filter(({ seconds }) => seconds !== undefined).length;
  return [
    ...(done < studies.length ? [`**Unfinished: ${done} of ${studies.length} studies so far.**`] : []),
    ...studies.flatMap(({ name, failed }) =>
      failed === undefined ? [] : [`**The study ${name} failed: ${failed}**`],
    ),
    ...studies.flatMap(({ name, leftOut }) =>
      leftOut.map((one) => `**Left out of ${name}: ${one.name}: ${one.why}**`),
    ),
  ];
}

export const barTable = (bars: readonly Judged[]): string =>
  tableText(
    ["", "ratio", "limit", ""],
    bars.map(({ promise, ratio, limit, verdict, why }) => [
      promise,
      ratio,
      limit,
      (verdict === "holds" ? verdict : `**${verdict}**`) + (why === undefined ? "" : `: ${why}`),
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
