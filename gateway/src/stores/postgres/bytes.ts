/** Bytes as they travel in JSON. */
export const hexOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");

/** An account's idempotency key, as a name in memory. */
export const claimName = (accountId: string, keyHash: Uint8Array): string => `${accountId} ${hexOf(keyHash)}`;
