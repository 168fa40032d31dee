/** Shorter keys occur in ordinary text; no vendor issues them. */
const keyLengthMin = 8;

/** Whether a vendor repeats a secret it was shown: such a text must not be passed on to a caller. */
export function repeatsSecret(secrets: readonly string[], text: string): boolean {
  for (const secret of secrets) if (secret.length >= keyLengthMin && text.includes(secret)) return true;
  return false;
}

/** A string of JSON with fewer bytes than this repeats none of them; none is short enough where one has a quote in it. */
export function secretBytesMin(secrets: readonly string[]): number {
  let least = Number.POSITIVE_INFINITY;
  for (const secret of secrets) {
    if (secret.includes('"')) return 0;
    if (secret.length >= keyLengthMin) least = Math.min(least, secret.length);
  }
  return least;
}
