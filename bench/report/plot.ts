import { isOurs } from "../contestants/tollgate.ts";
import { readable, type Mark, type Plot } from "./chapter.ts";

// Drawn by hand, because a few bars need no library. Colours follow the reader's scheme, the ground stays transparent.

const width = 910;
const labelWidth = 200;
const valueWidth = 180;
const rowHeight = 24;
const barHeight = 14;
const panelGap = 26;
const titleHeight = 26;
const barWidthMax = width - labelWidth - valueWidth;
/** A bar longer than this many times ours, or the limit, would make the others unreadable; it is cut and says so. */
const cutAboveOurs = 2.2;

export interface Panel extends Plot {
  readonly title: string;
}

/** One panel for each table, one row for each contestant. */
export function plotOf(panels: readonly Panel[]): string {
  let top = 38;
  const drawn = panels.map((panel) => {
    const at = top;
    top += titleHeight + panel.marks.length * rowHeight + panelGap;
    return drawPanel(panel, at);
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${top}" width="${width}" height="${top}" role="img">
<title>Cost by contestant and scenario</title>
<style>
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600 }
  .unit, .spread { fill: #57606a }
  .bar { fill: #8c959f }
  .ours { fill: #0969da }
  .whisker { stroke: #24292f; stroke-width: 1.5 }
  .cut { fill: none; stroke: #24292f; stroke-width: 1.5 }
  .limit { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 4 3 }
  .limit-label { fill: #cf222e }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .unit, .spread { fill: #9198a1 }
    .bar { fill: #6e7681 }
    .ours { fill: #4493f8 }
    .whisker, .cut { stroke: #e6edf3 }
    .limit { stroke: #ff7b72 }
    .limit-label { fill: #ff7b72 }
  }
</style>
<text class="unit" x="0" y="16">Shorter is better. A bar ends at the median over the rounds, its whisker spans the least and the most.</text>
${drawn.join("\n")}
</svg>
`;
}

/** Names are anybody's. */
const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function drawPanel({ title, unit, marks, limit }: Panel, top: number): string {
  const end = scaleEnd(marks, limit?.value ?? 0);
  const rows = marks.map((mark, at) => drawRow(mark, end, top + titleHeight + at * rowHeight));
  return [
    `<text class="title" x="0" y="${top + 12}">${escaped(title)} <tspan class="unit" font-weight="400">${escaped(unit)}</tspan></text>`,
    ...rows,
    ...(limit ? [drawLimit(limit, xOf(limit.value, end), top, marks.length)] : []),
  ].join("\n");
}

/** Its words stand at the right end of the title's line, where nothing else is. */
function drawLimit({ label }: NonNullable<Plot["limit"]>, x: string, top: number, rows: number): string {
  const [from, to] = [top + titleHeight - 5, top + titleHeight + rows * rowHeight - 5];
  const sample = `<path class="limit" d="M${width - 18} ${top}v14"/>`;
  return `<path class="limit" d="M${x} ${from}V${to}"/>${sample}<text class="limit-label" x="${width - 26}" y="${top + 12}" text-anchor="end">limit: ${escaped(label)}</text>`;
}

/** The scale ends at the longest bar that is not out of all proportion to ours, and shows the limit. */
function scaleEnd(marks: readonly Mark[], limit: number): number {
  const own = Math.max(...marks.filter(({ name }) => isOurs(name)).map(({ median }) => median), 0);
  const kept = marks.filter(({ median }) => own === 0 || median <= Math.max(own, limit) * cutAboveOurs);
  return Math.max(limit, ...kept.map(({ most }) => most)) * 1.02;
}

const xOf = (value: number, end: number): string =>
  (labelWidth + (Math.max(0, Math.min(value, end)) / end) * barWidthMax).toFixed(1);

function drawRow({ name, median, least, most }: Mark, end: number, top: number): string {
  const x = (value: number): string => xOf(value, end);
  const middle = top + barHeight / 2;
  const right = labelWidth + barWidthMax;
  const spread =
    median > end
      ? `<path class="cut" d="M${right - 8} ${top - 2}l-6 ${barHeight + 4}m5 0l6 -${barHeight + 4}"/>`
      : `<path class="whisker" d="M${x(least)} ${middle}H${x(most)}M${x(least)} ${middle - 4}v8M${x(most)} ${middle - 4}v8"/>`;
  return [
    `<text x="${labelWidth - 10}" y="${middle + 4.5}" text-anchor="end">${escaped(name)}</text>`,
    `<rect class="${isOurs(name) ? "bar ours" : "bar"}" x="${labelWidth}" y="${top}" width="${(Number(x(median)) - labelWidth).toFixed(1)}" height="${barHeight}" rx="2"/>`,
    spread,
    `<text x="${right + 12}" y="${middle + 4.5}">${readable(median)}${least === most ? "" : ` <tspan class="spread">(${readable(least)}–${readable(most)})</tspan>`}</text>`,
  ].join("");
}
