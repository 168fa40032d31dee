import { quantityMax } from "./quantities.ts";

/**
 * A usage figure as an upstream reported it. Absent stays absent, an explicit 0 is 0; what is negative,
 * fractional, not a number or absurd is bent into range and named, so that it can be counted and looked at.
 */
export function readCount(value: unknown, name: string, anomalies: string[]): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "number" || Number.isNaN(value)) {
    anomalies.push(`${name} is not a number`);
    return undefined;
  }
  if (value < 0) {
    anomalies.push(`${name} is negative`);
    return 0;
  }
  if (value > quantityMax) {
    anomalies.push(`${name} is absurd`);
    return quantityMax;
  }
  if (!Number.isInteger(value)) {
    anomalies.push(`${name} is fractional`);
    return Math.floor(value);
  }
  return value;
}

/** What nearly every figure is: nothing about it needs a name. */
export const isPlainCount = (value: unknown): value is number =>
  typeof value === "number" && value >= 0 && value <= quantityMax && Number.isInteger(value);
