const secondsMax = 86_400;

/**
 * How long a vendor asks to wait: seconds, which some write with a fraction, or a date counted from the vendor's own
 * Date, so that no two clocks are compared. Nonsense counts as unsaid; nobody is asked to wait longer than a day.
 */
export function readRetryAfterSeconds(
  written: string | undefined,
  date: string | undefined,
): number | undefined {
  if (written === undefined) return undefined;
  const text = written.trim();
  const seconds = /^\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) : secondsUntil(text, date);
  return Number.isNaN(seconds) ? undefined : withinReason(Math.ceil(seconds));
}

/** A date has letters in it; `Date.parse` makes one of figures, too. */
const secondsUntil = (text: string, date = ""): number =>
  /[a-z]/i.test(text) ? (Date.parse(text) - Date.parse(date)) / 1000 : Number.NaN;

/** The same where it is written as Google writes durations, such as `37.5s`. */
export function readDelaySeconds(written: unknown): number | undefined {
  const told = typeof written === "string" ? /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(written)?.[1] : undefined;
  return told === undefined ? undefined : withinReason(Math.ceil(Number(told)));
}

/** The same as it is said in sentences, such as `20ms`, `6 seconds` or `1m26.4s`: whoever reads those waits no longer than told. */
export function readDelayMs(written: unknown): number | undefined {
  if (typeof written !== "string" || !delays.test(written)) return undefined;
  const amounts = [...written.matchAll(/([\d.]+) ?(ms|[hms])/g)];
  const toldMs = amounts.reduce(
    (sum, [, amount, unit = ""]) => sum + Number(amount) * (unitsMs[unit] ?? 0),
    0,
  );
  return Math.min(Math.max(1, Math.round(toldMs)), secondsMax * 1_000);
}

const delays = /^(?:(?:\d{1,9}(?:\.\d{1,9})?(?:ms|[hms])){1,4}|\d{1,9} seconds?)$/;
const unitsMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

const withinReason = (seconds: number): number => Math.min(Math.max(1, seconds), secondsMax);
