// Reads the values people type. Each reader returns what was meant or says what was expected.

import { patternCharactersMax, patternsMax } from "../../keys/allowed-names.ts";
import { budgetWindows, keyScopes, type Budget, type KeyScope } from "../../keys/keys.ts";
import { tierNames, type TierLimits, type TierName } from "../../limits/tiers.ts";
import {
  amountMicrosMax,
  microsFromUsd,
  multiplierFromPpm,
  ppmFromMultiplier,
  usdFromMicros,
  type Micros,
} from "../../platform/money.ts";
import { dayMs, secondsOfDay } from "../../platform/utc-day.ts";
import { optional, WrongUsage, type GivenFlags } from "./command.ts";

const textLengthMax = 200;
/** A dearer plan than a hundred times the list price is a typing error. */
const multiplierPpmMax = 100_000_000n;
const graceMsMax = 365 * dayMs;
/** No limit is as high; more digits are a typing error. */
const figureMax = 9_999_999_999;

export function readText(flag: string, written: string): string {
  const text = written.trim();
  // Control characters in a name could rewrite the terminal of whoever lists it.
  if (text === "" || text.length > textLengthMax || /\p{Cc}/u.test(text)) {
    throw new WrongUsage(`--${flag} takes 1 to ${textLengthMax} characters without control characters.`);
  }
  return text;
}

/** An amount of either sign that is not zero. */
export function readCorrection(flag: string, written: string): Micros {
  const micros = readUsd(flag, written.replace(/^\+(?=\d)/, ""));
  if (micros === 0n) throw new WrongUsage(`--${flag} must not be 0.`);
  return micros;
}

export function readPayment(flag: string, written: string): Micros {
  const micros = readUsd(flag, written);
  if (micros <= 0n) throw new WrongUsage(`--${flag} must be more than 0.`);
  return micros;
}

/** An amount that may be nothing, and never less. */
export function readCredit(flag: string, written: string): Micros {
  const micros = readUsd(flag, written);
  if (micros < 0n) throw new WrongUsage(`--${flag} must not be negative.`);
  return micros;
}

function readUsd(flag: string, written: string): Micros {
  const micros = microsFromUsd(written);
  if (micros === undefined && !tooManyDigits.test(written)) {
    throw new WrongUsage(`--${flag} takes USD with at most 6 decimals, like 12.50.`);
  }
  if (micros === undefined || micros > amountMicrosMax || micros < -amountMicrosMax) {
    throw new WrongUsage(`--${flag} is limited to ${usdFromMicros(amountMicrosMax)} USD at a time.`);
  }
  return micros;
}

/** More than any amount of money is read from. */
const tooManyDigits = /^-?\d{16,}(\.\d*)?$/;

export function readMultiplier(flag: string, written: string): bigint {
  const ppm = ppmFromMultiplier(written);
  if (ppm === undefined || ppm < 0n || ppm > multiplierPpmMax) {
    const most = multiplierFromPpm(multiplierPpmMax);
    throw new WrongUsage(`--${flag} takes a number from 0 to ${most} with at most 6 decimals, like 0.9.`);
  }
  return ppm;
}

export function readFigure(flag: string, written: string): number {
  if (!/^[1-9]\d*$/.test(written)) throw new WrongUsage(`--${flag} takes a whole number from 1.`);
  if (Number(written) > figureMax) throw new WrongUsage(`--${flag} takes at most ${figureMax}.`);
  return Number(written);
}

/** The flags of every command that grants limits; they count where the tier has fewer. */
export const limitFlags = {
  rpm: optional("N", "requests per minute, where the tier has fewer"),
  tpm: optional("N", "tokens per minute, where the tier has fewer"),
  concurrency: optional("N", "streams and long calls at once, where the tier has fewer"),
} as const;

/** Only the figures that were written. */
export const readLimits = ({
  rpm,
  tpm,
  concurrency,
}: GivenFlags<typeof limitFlags>): Partial<TierLimits> => ({
  ...(rpm !== undefined && { rpm: readFigure("rpm", rpm) }),
  ...(tpm !== undefined && { tpm: readFigure("tpm", tpm) }),
  ...(concurrency !== undefined && { concurrency: readFigure("concurrency", concurrency) }),
});

export const readTier = (flag: string, written: string): TierName =>
  readWord(flag, written.toLowerCase(), tierNames);

export const readScope = (flag: string, written: string): KeyScope => readWord(flag, written, keyScopes);

/** A budget is an amount and a window; one without the other says nothing. */
export function readBudget(usd: string | undefined, window: string | undefined): Budget | undefined {
  if (usd === undefined && window === undefined) return undefined;
  if (usd === undefined || window === undefined) {
    throw new WrongUsage("A budget needs both --budget-usd and --budget-window.");
  }
  return {
    limitMicros: readCredit("budget-usd", usd),
    window: readWord("budget-window", window, budgetWindows),
  };
}

/** Commas separate them, so no name has one; a `*` in the middle would look as if it meant something. */
const patternShape = /^[^\s,*\p{Cc}]*\*?$/u;

export function readPatterns(flag: string, written: string): readonly string[] {
  const patterns = [...new Set(written.split(",").map((pattern) => pattern.trim()))];
  const wrong = patterns.find(
    (pattern) => pattern === "" || pattern.length > patternCharactersMax || !patternShape.test(pattern),
  );
  if (wrong !== undefined || patterns.length > patternsMax) {
    throw new WrongUsage(
      `--${flag} takes 1 to ${patternsMax} names, separated by commas, of up to ${patternCharactersMax} characters ` +
        "each; one that ends in * stands for all that begin so.",
    );
  }
  return patterns;
}

export function readWord<Word extends string>(flag: string, written: string, words: readonly Word[]): Word {
  const word = words.find((known) => known === written);
  if (word === undefined) throw new WrongUsage(`--${flag} takes one of ${words.join(", ")}.`);
  return word;
}

const durationShape = /^(\d{1,9})([smhd])$/;
const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: dayMs };

export function readDurationMs(flag: string, written: string): number {
  const [, count = "", unit = ""] = durationShape.exec(written) ?? [];
  const ms = Number(count) * (unitMs[unit] ?? Number.NaN);
  if (!(ms <= graceMsMax))
    throw new WrongUsage(`--${flag} takes a time like 30s, 15m, 24h or 7d, at most 365d.`);
  return ms;
}

const dateShape = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/;

/** A day (its first moment in UTC) or a moment with its zone. */
export function readMomentMs(flag: string, written: string): number {
  const day = dateShape.exec(written)?.[1];
  const ms = Date.parse(written);
  if (day === undefined || Number.isNaN(ms) || secondsOfDay(day) === undefined) {
    throw new WrongUsage(`--${flag} takes a date like 2030-01-31 (0:00 UTC) or 2030-01-31T18:00:00Z.`);
  }
  return ms;
}

export function readFutureMs(flag: string, written: string, nowMs: number): number {
  const ms = readMomentMs(flag, written);
  if (ms <= nowMs) throw new WrongUsage(`--${flag} ${written} lies in the past.`);
  return ms;
}

/** A UTC day, by its first second. */
export function readDaySeconds(flag: string, written: string): number {
  const seconds = secondsOfDay(written);
  if (seconds === undefined) throw new WrongUsage(`--${flag} takes a UTC day like 2030-01-31.`);
  return seconds;
}
