import { isoTime } from "../../platform/clock.ts";
import { usdFromMicros, type Micros } from "../../platform/money.ts";

/** Columns for people; a list without rows says so. */
export function table(head: readonly string[], rows: readonly (readonly string[])[], none: string): string[] {
  if (rows.length === 0) return [none];
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)),
  );
  return [head, ...rows].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** One line for each field, their values aligned. */
export function fieldLines(fields: Readonly<Record<string, string>>): string[] {
  const width = Math.max(...Object.keys(fields).map((name) => name.length));
  return Object.entries(fields).map(([name, value]) => `${name.padEnd(width)}  ${value}`);
}

export const usd = (micros: Micros): string => `${usdFromMicros(micros)} USD`;

export const isoTimeOrNull = (ms: number | undefined): string | null =>
  ms === undefined ? null : isoTime(ms);
