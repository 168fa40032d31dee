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

const withinReason = (seconds: number): number => Math.min(Math.max(1, seconds), secondsMax);
