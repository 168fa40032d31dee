import type { TierLimits, TierName } from "../limits/tiers.ts";
import type { Micros } from "../platform/money.ts";
import type { EntryFilter, EntryPage } from "./entries.ts";

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly tier: TierName;
  readonly planMultiplierPpm: bigint;
  readonly suspended: boolean;
  /** Figures granted to this account in place of its tier's. */
  readonly grantedLimits: Partial<TierLimits>;
  readonly postedMicros: Micros;
  readonly heldMicros: Micros;
  readonly toppedUpMicros: Micros;
  readonly createdAtMs: number;
}

export interface NewAccount {
  readonly id: string;
  readonly name: string;
  readonly tier: TierName;
  readonly planMultiplierPpm: bigint;
  /** A grant, not a payment: it does not raise the tier. */
  readonly creditMicros: Micros;
  readonly nowMs: number;
}

export interface AccountChange {
  readonly name?: string;
  readonly tier?: TierName;
  readonly planMultiplierPpm?: bigint;
  readonly suspended?: boolean;
  /** The figures named here are granted in place of earlier ones and the others stay; null takes all of them back. */
  readonly grantedLimits?: Partial<TierLimits> | null;
}

/**
 * Accounts and the money that comes in. Invariants: a balance changes only together with entries that
 * explain it; a transfer id books once, however often it is repeated; no adjustment takes what is held.
 */
export interface AccountBook {
  readonly create: (account: NewAccount) => Promise<Account>;
  readonly find: (accountId: string) => Promise<Account | undefined>;
  readonly list: () => Promise<readonly Account[]>;
  readonly update: (accountId: string, change: AccountChange) => Promise<Account | undefined>;
  readonly topUp: (payment: TopUp) => Promise<Account | undefined>;
  /** A payment of this account as it was booked, which is when it was told first. */
  readonly findPayment: (accountId: string, transferId: string) => Promise<BookedPayment | undefined>;
  /** Undefined for an unknown account; a refusal when the correction would take more than is available. */
  readonly adjust: (
    correction: Payment & { readonly reason: string },
  ) => Promise<
    Account | { readonly refused: "insufficient_balance"; readonly availableMicros: Micros } | undefined
  >;
  /** Undefined for an unknown account; a refusal when the account has no entry to begin behind. */
  readonly entries: (
    accountId: string,
    filter: EntryFilter,
  ) => Promise<EntryPage | { readonly refused: "unknown_entry" } | undefined>;
}

export interface TopUp extends Payment {
  /** What it is called elsewhere, such as the number of an invoice. */
  readonly reference?: string | undefined;
}

export interface BookedPayment {
  readonly amountMicros: Micros;
  readonly reference: string | undefined;
  readonly bookedAtMs: number;
}

export interface Payment {
  readonly transferId: string;
  readonly accountId: string;
  readonly amountMicros: Micros;
  readonly nowMs: number;
}
