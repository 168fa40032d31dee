import type { Micros } from "../platform/money.ts";

export const tierNames = ["free", "starter", "growth", "enterprise"] as const;
export type TierName = (typeof tierNames)[number];

/** What a key of a tier may do. */
export interface TierLimits {
  readonly rpm: number;
  readonly tpm: number;
  readonly concurrency: number;
}

export const specifiedTiers: Readonly<Record<TierName, TierLimits>> = {
  free: { rpm: 60, tpm: 60_000, concurrency: 5 },
  starter: { rpm: 600, tpm: 600_000, concurrency: 20 },
  growth: { rpm: 3_000, tpm: 3_000_000, concurrency: 50 },
  // By agreement: the operator writes the figures into the configuration; until then Growth's hold.
  enterprise: { rpm: 3_000, tpm: 3_000_000, concurrency: 50 },
};

export const growthToppedUpMicros: Micros = 500_000_000n;

/** Paying raises the tier and never lowers one that was granted. */
export function tierAfterTopUp(current: TierName, toppedUpMicros: Micros): TierName {
  const earned: TierName =
    toppedUpMicros >= growthToppedUpMicros ? "growth" : toppedUpMicros > 0n ? "starter" : "free";
  return higherTier(current, earned);
}

export const higherTier = (one: TierName, other: TierName): TierName =>
  tierNames.indexOf(other) > tierNames.indexOf(one) ? other : one;
