/** Shorter keys occur in ordinary text; no vendor issues them. */
const keyLengthMin = 8;

/** Whether a vendor repeats the key it was shown: such a text must not be passed on to a caller. */
export const repeatsKey = (key: string, text: string): boolean =>
  key.length >= keyLengthMin && text.includes(key);
