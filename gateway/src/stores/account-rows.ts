import type { Account, BookedPayment } from "../ledger/accounts.ts";
import type { EntryKind } from "../ledger/entries.ts";
import type { TierName } from "../limits/tiers.ts";
import { grantedLimitsOf } from "./granted-limits.ts";

export interface AccountRow {
  readonly id: string;
  readonly name: string;
  readonly tier: TierName;
  readonly plan_multiplier_ppm: bigint;
  /** SQLite says it with a number. */
  readonly suspended: boolean | bigint;
  readonly posted_micros: bigint;
  readonly held_micros: bigint;
  readonly topped_up_micros: bigint;
  readonly created_at_ms: bigint;
  readonly rpm: bigint | null;
  readonly tpm: bigint | null;
  readonly concurrency: bigint | null;
}

export const accountColumns = `
  id, name, tier, plan_multiplier_ppm, suspended, posted_micros, held_micros, topped_up_micros, created_at_ms, rpm, tpm,
  concurrency`;

export const accountOf = (row: AccountRow): Account => ({
  id: row.id,
  name: row.name,
  tier: row.tier,
  planMultiplierPpm: row.plan_multiplier_ppm,
  suspended: Boolean(row.suspended),
  grantedLimits: grantedLimitsOf(row),
  postedMicros: row.posted_micros,
  heldMicros: row.held_micros,
  toppedUpMicros: row.topped_up_micros,
  createdAtMs: Number(row.created_at_ms),
});

/** What has entries of its own; a charge is seen at its call. */
export type PaymentKind = Exclude<EntryKind, "charge">;

/** The other side of each payment's entries. */
export const housePaying: Readonly<Record<PaymentKind, string>> = {
  grant: "house:grants",
  top_up: "house:cash",
  adjustment: "house:adjustments",
};

/** What is written down with the grant an account begins with. */
export const signupMemo = "signup credit";

export interface BookedRow {
  readonly amount_micros: bigint;
  readonly memo: string | null;
  readonly created_at_ms: bigint;
}

export const bookedColumns = "amount_micros, memo, created_at_ms";

export const bookedOf = (row: BookedRow): BookedPayment => ({
  amountMicros: row.amount_micros,
  reference: row.memo ?? undefined,
  bookedAtMs: Number(row.created_at_ms),
});
