import { costUnit } from "../../operation/price.ts";
import { quantityMax } from "../../prices/quantities.ts";
import type { TokenReading } from "../../operation/token-reading.ts";

/** Beyond twelve places there is only the noise of the vendor's own arithmetic. */
const places = 12;
const one = 10n ** BigInt(places);
export const microsPerUsd = 1_000_000n;

/** What a vendor says a call cost: so many of its units, at so many micro-USD each. */
export interface Cost {
  readonly amount: unknown;
  readonly microsEach: bigint;
}

/**
 * A vendor's cost as whole micro-USD, rounded up. The amount is read as it is written, digit by digit, and never
 * reckoned with as a float. Absent stays absent, an explicit 0 is 0; what is no amount is named.
 */
export function readCostMicros({ amount: value, microsEach }: Cost, anomalies: string[]): number | undefined {
  if (value === undefined || value === null) return undefined;
  const written = typeof value === "number" || typeof value === "string" ? String(value) : "";
  const match = /^(-?)(\d{1,30})(?:\.(\d{1,60}))?(?:e([+-]?\d{1,3}))?$/i.exec(written);
  if (!match) {
    anomalies.push("the cost is not an amount");
    return undefined;
  }
  const [, sign, whole = "", fraction = "", exponent = "0"] = match;
  if (sign === "-") {
    anomalies.push("the cost is negative");
    return 0;
  }
  const amount = scaled(BigInt(whole + fraction), places - fraction.length + Number(exponent));
  const micros = (amount * microsEach + one - 1n) / one;
  if (micros <= BigInt(quantityMax)) return Number(micros);
  anomalies.push("the cost is absurd");
  return quantityMax;
}

/** digits × 10^power, rounded to the nearest. */
function scaled(digits: bigint, power: number): bigint {
  if (power >= 0) return digits * 10n ** BigInt(power);
  const divisor = 10n ** BigInt(-power);
  return (digits + divisor / 2n) / divisor;
}

/**
 * The reading of an answer whose vendor names its cost. Without a cost there is no evidence, so no charge; the operator,
 * who is billed all the same, hears of it.
 */
export function costReading(micros: number | undefined, anomalies: readonly string[]): TokenReading {
  if (micros !== undefined) return { used: { [costUnit]: micros }, estimate: undefined, anomalies };
  const untold = anomalies.length > 0 ? anomalies : ["no cost was told"];
  return { used: undefined, estimate: undefined, anomalies: untold };
}
