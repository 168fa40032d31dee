/** Shorter keys occur in ordinary text; no vendor issues them. */
const keyLengthMin = 8;

/** Whether a vendor repeats a secret it was shown: such a text must not be passed on to a caller. */
export function repeatsSecret(secrets: readonly string[], text: string): boolean {
  for (const secret of secrets) if (secret.length >= keyLengthMin && text.includes(secret)) return true;
  return false;
}
