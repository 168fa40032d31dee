/** Shorter keys occur in ordinary text; no vendor issues them. */
const keyLengthMin = 8;

/** Whether a vendor repeats a secret it was shown: such a text must not be passed on to a caller. */
export function repeatsSecret(secrets: readonly string[], text: string): boolean {
  return saysOneOf(secrets, text) || (mayHideKeys(text) && saysOneOf(secrets, unescaped(text)));
}

function saysOneOf(secrets: readonly string[], text: string): boolean {
  for (const secret of secrets) if (secret.length >= keyLengthMin && text.includes(secret)) return true;
  return false;
}

/** Line breaks and quotes are escaped in most answers and in no key, so most are not read a second time. */
const mayHideKeys = (text: string): boolean => text.includes("\\/") || text.includes("\\u00");

/**
 * As a caller's JSON parser reads it: PHP writes every slash with a backslash, .NET a plus in four digits, and JSON inside
 * of JSON doubles the backslashes. Keys are ASCII, so letters of other alphabets stay as they are.
 */
const unescaped = (text: string): string =>
  text.replace(escapedInKeys, (_, hex: string | undefined) =>
    hex === undefined ? "/" : String.fromCharCode(Number.parseInt(hex, 16)),
  );

/** Begins where a run of backslashes does: from within one, each of them would be looked at once for every one before it. */
const escapedInKeys = /(?<!\\)\\+(?:\/|u00([2-7][0-9a-f]))/gi;

/** A string of JSON with fewer bytes than this repeats none of them; none is short enough where one has a quote in it. */
export function secretBytesMin(secrets: readonly string[]): number {
  let least = Number.POSITIVE_INFINITY;
  for (const secret of secrets) {
    if (secret.includes('"')) return 0;
    if (secret.length >= keyLengthMin) least = Math.min(least, secret.length);
  }
  return least;
}
