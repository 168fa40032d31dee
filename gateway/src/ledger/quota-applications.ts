import type { EarlierCall, IdempotencyClaim } from "./ledger.ts";
import type { TierLimits, TierName } from "../limits/tiers.ts";

/** A caller's request for more than its tier gives. */
export interface QuotaApplication {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly expectedRpm: number;
  readonly expectedTpm: number;
  readonly models: readonly string[];
  readonly endpoints: readonly string[];
  readonly useCase: string;
  readonly state: "open" | "approved" | "denied";
  readonly createdAtMs: number;
  readonly decidedAtMs: number | undefined;
}

export type NewQuotaApplication = Omit<QuotaApplication, "state" | "decidedAtMs"> & {
  readonly idempotency: IdempotencyClaim | undefined;
};

export type Filed =
  | { readonly kind: "filed"; readonly application: QuotaApplication }
  | { readonly kind: "idempotency_conflict"; readonly earlier: EarlierCall }
  | { readonly kind: "too_many_open" };

/** What an approval gives: a tier, or figures of its own. */
export interface QuotaGrant {
  readonly tier?: TierName;
  readonly limits?: Partial<TierLimits>;
}

/** Applications an account may have waiting at once; more would only be noise for the operator. */
export const openApplicationsMax = 5;

/** Invariants: an application is decided once; a grant takes effect in the same transaction as the approval. */
export interface QuotaBook {
  readonly file: (application: NewQuotaApplication) => Promise<Filed>;
  readonly list: (state: QuotaApplication["state"] | undefined) => Promise<readonly QuotaApplication[]>;
  /** Undefined when there is no such open application. */
  readonly approve: (id: string, grant: QuotaGrant, nowMs: number) => Promise<QuotaApplication | undefined>;
  readonly deny: (id: string, nowMs: number) => Promise<QuotaApplication | undefined>;
}
