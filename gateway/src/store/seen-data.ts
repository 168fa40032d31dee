/** What data says of itself to whoever only looks: nothing was brought forward or claimed for it. */
export interface SeenData {
  readonly schema: number;
  /** The one that this program brings it to. */
  readonly schemaKnown: number;
  /** The fingerprint of the secret that it belongs to; undefined when nobody has claimed it yet. */
  readonly fingerprint: string | undefined;
}

/** Said where the data has a fingerprint, and the installation no secret. */
export const lacksItsSecret = (name: string): string =>
  `The data at ${name} belongs to a secret that is not here. Set TOLLGATE_SECRET to it, or put its data/secret back.`;

/** What to do about data that was written under another secret. */
export const bringItsSecret =
  "Set TOLLGATE_SECRET (is there a line break at its end?), or put the old data/secret back.";
