import type { RefusalDetails } from "../platform/refusals.ts";
import { resetSeconds, retrySeconds } from "./limit-times.ts";

/** A limit that leaves no room for a request at the moment. */
export interface HitLimit {
  readonly name: string;
  readonly limit: number;
  readonly remaining?: number;
  /** Operations that share it, where it is not for all of a key. */
  readonly appliesTo?: readonly string[] | undefined;
  readonly retryInMs: number;
}

/** How every refusal tells which limit was hit, and when to come back. */
export const toldOfLimit = (
  { name, limit, remaining = 0, appliesTo, retryInMs }: HitLimit,
  nowMs: number,
): RefusalDetails => ({
  retryAfterSeconds: retrySeconds(retryInMs),
  inError: {
    limit: {
      name,
      ...(appliesTo && { applies_to: appliesTo }),
      limit,
      remaining,
      reset: resetSeconds(retryInMs, nowMs),
    },
  },
});
