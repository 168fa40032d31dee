import { isoTime } from "../platform/clock.ts";

/** How times are written in a task: `YYYY-MM-DD HH:MM:SS.mmm`, UTC. */
export const writeTaskTime = (ms: number): string => isoTime(ms).replace("T", " ").slice(0, -1);

const written = /^(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}\.\d{3})$/;

/** Undefined for what is no such time. */
export function readTaskTime(value: unknown): number | undefined {
  const match = typeof value === "string" ? written.exec(value) : null;
  const ms = match ? Date.parse(`${match[1]}T${match[2]}Z`) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
