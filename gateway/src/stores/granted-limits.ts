import type { TierLimits } from "../limits/tiers.ts";

interface LimitColumns {
  readonly rpm: bigint | null;
  readonly tpm: bigint | null;
  readonly concurrency: bigint | null;
}

/** What is granted after a change: nothing is lost that the change does not name, unless it takes all of it back. */
export const grantedLimitsAfter = (
  before: Partial<TierLimits>,
  change: Partial<TierLimits> | null | undefined,
): Partial<TierLimits> => (change === null ? {} : { ...before, ...change });

/** Only the figures that were granted; the rest are the tier's. */
export const grantedLimitsOf = ({ rpm, tpm, concurrency }: LimitColumns): Partial<TierLimits> => ({
  ...(rpm === null ? {} : { rpm: Number(rpm) }),
  ...(tpm === null ? {} : { tpm: Number(tpm) }),
  ...(concurrency === null ? {} : { concurrency: Number(concurrency) }),
});
