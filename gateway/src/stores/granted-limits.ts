import type { TierLimits } from "../limits/tiers.ts";

interface LimitColumns {
  readonly rpm: bigint | null;
  readonly tpm: bigint | null;
  readonly concurrency: bigint | null;
}

/** Only the figures that were granted; the rest are the tier's. */
export const grantedLimitsOf = ({ rpm, tpm, concurrency }: LimitColumns): Partial<TierLimits> => ({
  ...(rpm === null ? {} : { rpm: Number(rpm) }),
  ...(tpm === null ? {} : { tpm: Number(tpm) }),
  ...(concurrency === null ? {} : { concurrency: Number(concurrency) }),
});
