import { timingSafeEqual } from "node:crypto";

/** Compares what was presented with what is expected; how long it takes tells nothing about where they differ. */
export function isSameSecret(presented: string | Uint8Array, expected: string | Uint8Array): boolean {
  const [one, other] = [Buffer.from(presented), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}
