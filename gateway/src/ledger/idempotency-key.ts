/** How a caller's Idempotency-Key is kept: bounded in size, and nobody's to read in a dump. */
export const hashIdempotencyKey = (key: string): Uint8Array =>
  new Bun.CryptoHasher("sha256").update(key).digest();
