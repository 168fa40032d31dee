/** How a caller's Idempotency-Key is kept: bounded in size, and nobody's to read in a dump. */
export const hashIdempotencyKey = (key: string): Uint8Array =>
  new Bun.CryptoHasher("sha256").update(key).digest();

/** A key is kept for a day after its call ended, and for as long as the call is open. */
export const idempotencyKeptMs = 24 * 60 * 60 * 1000;
