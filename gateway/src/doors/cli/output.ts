import { isoTime } from "../../platform/clock.ts";
import { usdFromMicros, type Micros } from "../../platform/money.ts";

/** Columns for people; a list without rows says so. Names take the room that a terminal gives their characters. */
export function table(head: readonly string[], rows: readonly (readonly string[])[], none: string): string[] {
  if (rows.length === 0) return [none];
  const lines = [head, ...rows];
  const widths = head.map((_, column) => lines.map((line) => Bun.stringWidth(line[column] ?? "")));
  const widest = widths.map((ofColumn) => ofColumn.reduce((most, width) => Math.max(most, width), 0));
  return lines.map((line, at) =>
    line
      .map((cell, column) => cell + " ".repeat((widest[column] ?? 0) - (widths[column]?.[at] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}

/** One line for each field, their values aligned. */
export function fieldLines(fields: Readonly<Record<string, string>>): string[] {
  const width = Math.max(...Object.keys(fields).map((name) => name.length));
  return Object.entries(fields).map(([name, value]) => `${name.padEnd(width)}  ${value}`);
}

/** A name that others chose, without what would move a terminal. */
export const inOneLine = (name: string): string => name.replaceAll(/\p{Cc}/gu, " ");

export const usd = (micros: Micros): string => `${usdFromMicros(micros)} USD`;

export const isoTimeOrNull = (ms: number | undefined): string | null =>
  ms === undefined ? null : isoTime(ms);
