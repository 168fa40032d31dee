// Money is integers all the way: prices in pico-USD per unit, charges in whole micro-USD.
// A plan multiplier is an integer in parts per million, so the exact amount of a charge
// (pico × ppm) is counted in atto-USD and nothing is ever rounded before the last step.

export type Micros = bigint;
export type Pico = bigint;
export type Atto = bigint;

const picoPerUsd = 1_000_000_000_000n;
export const picoPerMicro = 1_000_000n;
export const attoPerMicro = 1_000_000_000_000n;
export const multiplierOne = 1_000_000n;

/** One amount may not pass a million USD: beyond it a typing error is likelier than a payment. */
export const amountMicrosMax: Micros = 1_000_000_000_000n;

const decimal = /^(-?)(\d{1,15})(?:\.(\d{1,18}))?$/;

/** Reads a decimal number exactly, scaled by 10^places; undefined when it is not one or has more places. */
export function parseDecimal(text: string, places: number): bigint | undefined {
  const match = decimal.exec(text);
  if (!match) return undefined;
  const [, sign, whole = "", fraction = ""] = match;
  const trimmed = fraction.replace(/0+$/, "");
  if (trimmed.length > places) return undefined;
  const magnitude = BigInt(whole + trimmed.padEnd(places, "0"));
  return sign === "-" ? -magnitude : magnitude;
}

/** USD as written by a person ("0.01", "-3") to micros; undefined when it is finer than a micro. */
export const microsFromUsd = (usd: string): Micros | undefined => parseDecimal(usd, 6);

/** A caller's cap, rounded down to whole micros so that the cap is never exceeded by rounding. */
export function capMicrosFromUsd(usd: string): Micros | undefined {
  const atto = parseDecimal(usd, 18);
  return atto === undefined || atto < 0n ? undefined : atto / attoPerMicro;
}

/** A cap that arrived as a JSON number. Its shortest decimal form is what the caller wrote; arithmetic on it would drift. */
export function capMicrosFromNumber(usd: number): Micros {
  const [, whole = "", fraction = "", exponent = "0"] =
    /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(usd)) ?? [];
  if (whole === "") throw new Error("A cap is a number of USD, 0 or more.");
  const places = Number(exponent) + 6 - fraction.length;
  const digits = BigInt(whole + fraction);
  return places >= 0 ? digits * 10n ** BigInt(places) : digits / 10n ** BigInt(-places);
}

/** A price per unit, in USD as written, to pico-USD. */
export const picoFromUsd = (usd: string): Pico | undefined => parseDecimal(usd, 12);

/** A price per 1,000,000 units, in USD as written, to pico-USD per unit. */
export const picoFromUsdPerMillion = (usd: string): Pico | undefined => parseDecimal(usd, 6);

/** A plan multiplier as written ("1.25") to parts per million. */
export const ppmFromMultiplier = (multiplier: string): bigint | undefined => parseDecimal(multiplier, 6);

export const usdFromMicros = (micros: Micros): string => formatDecimal(micros, 1_000_000n, 6);
export const usdFromPico = (pico: Pico): string => formatDecimal(pico, picoPerUsd, 12);
export const multiplierFromPpm = (ppm: bigint): string => formatDecimal(ppm, multiplierOne, 6);

/** What a hold or a quote rounds to: up, so that the final charge always fits. */
export const microsRoundedUp = (atto: Atto): Micros => (atto + attoPerMicro - 1n) / attoPerMicro;

function formatDecimal(amount: bigint, one: bigint, places: number): string {
  const magnitude = amount < 0n ? -amount : amount;
  const fraction = (magnitude % one).toString().padStart(places, "0").replace(/0+$/, "");
  return `${amount < 0n ? "-" : ""}${magnitude / one}${fraction === "" ? "" : `.${fraction}`}`;
}
