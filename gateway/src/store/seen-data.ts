/** What data says of itself to whoever only looks: nothing was brought forward or claimed for it. */
export interface SeenData {
  readonly schema: number;
  /** The one that this program brings it to. */
  readonly schemaKnown: number;
  /** Of the secret that it belongs to; undefined when nobody has claimed it yet. */
  readonly fingerprint: string | undefined;
}
