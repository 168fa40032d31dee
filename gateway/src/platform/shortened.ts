/** Callers' own words are quoted, and such a call is free: it is not to be answered with as many megabytes as it had. */
const quotedCharactersMax = 1_000;

/** The beginning and the end of a long text, because what is wrong with a word is said before or behind it. */
export function shortened(text: string, charactersMax = quotedCharactersMax): string {
  if (text.length <= charactersMax) return text;
  const half = charactersMax / 2;
  // Half of a character is no text to some readers of JSON.
  return `${text.slice(0, half)}…${text.slice(-half)}`.toWellFormed();
}
