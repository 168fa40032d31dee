// What an Idempotency-Key is, for whoever takes one, keeps one or tells of one.

/**
 * What a caller may write as a key. Two such headers arrive joined by ", ", and a space is not visible ASCII: they are
 * refused with the rest.
 */
export const idempotencyKeyPattern = /^[\x21-\x7e]{1,255}$/;
/** The same in words. */
export const idempotencyKeyRule = "1 to 255 visible ASCII characters";

/** How a caller's key is stored: bounded in size, and unreadable in a dump. */
export const hashIdempotencyKey = (key: string): Uint8Array =>
  new Bun.CryptoHasher("sha256").update(key).digest();

/** How long a key is kept after its request ended. */
export const idempotencyKeptHours = 24;
export const idempotencyKeptMs = idempotencyKeptHours * 60 * 60 * 1000;

/** How long after the end of an earlier request its key still counts as taken, for whoever claims it now. */
export const keptMsOf = ({ keptMs = idempotencyKeptMs }: { readonly keptMs?: number | undefined }): number =>
  keptMs;

/** Whether a request still has its key: it does while it is open, and for a day after its end, or what the claim says. */
export const keepsKey = (
  endedAtMs: number | undefined,
  nowMs: number,
  claim: Parameters<typeof keptMsOf>[0] = {},
): boolean => endedAtMs === undefined || endedAtMs + keptMsOf(claim) > nowMs;
