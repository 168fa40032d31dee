import type { EarlierCall } from "../ledger/ledger.ts";
import type { CallFilter } from "../ledger/call-book.ts";
import type { Receipt, ReceiptPage } from "../ledger/receipt.ts";
import type { Filed } from "../ledger/quota-applications.ts";
import type { UsageReport, UsageWindow } from "../usage/usage-report.ts";
import type { Asker } from "./asker.ts";
import type { ModelKind } from "./model-kind.ts";

/** What the gateway can tell a caller about itself. Everything is limited to the asker's own account. */
export interface SelfService {
  readonly usage: (asker: Asker, window: UsageWindow) => Promise<UsageReport>;
  readonly balance: (asker: Asker) => Promise<BalanceReport>;
  readonly receipt: (asker: Asker, requestId: string) => Promise<Receipt | undefined>;
  readonly receipts: (asker: Asker, wanted: ReceiptsWanted) => Promise<ReceiptPage>;
  /** The call that was made under this idempotency key: a page of one, or of none. */
  readonly receiptByKey: (asker: Asker, idempotencyKey: string) => Promise<ReceiptPage>;
  /** The models that the asker's key may call. */
  readonly models: (asker: Asker) => readonly ModelListing[];
  readonly limits: (asker: Asker) => Promise<LimitsReport>;
  /** Begins to link a platform account to the asker's key. */
  readonly beginLink: (asker: Asker, scopes: readonly string[]) => Promise<LinkBegun>;
  /** What is linked to the asker's key, or to any key of the account where the asker sees it all. */
  readonly links: (asker: Asker) => Promise<readonly LinkReport[]>;
  readonly revokeLink: (asker: Asker, linkId: string) => Promise<RevokedLinkReport | undefined>;
  readonly applyForQuota: (asker: Asker, application: ExpectedUse) => Promise<Filed>;
}

/** Which calls, of those that were made in a span of time; its end is not in it. */
export interface ReceiptsWanted extends Omit<CallFilter, "from"> {
  readonly madeFromMs?: number | undefined;
  readonly madeBeforeMs?: number | undefined;
}

/** A linked platform account, without any of its tokens. */
export interface LinkReport {
  readonly link_id: string;
  readonly key_id: string;
  readonly user: { readonly id: string; readonly username: string } | null;
  readonly scopes: readonly string[];
  /** `expired` must be linked again. */
  readonly status: "active" | "expired" | "revoked";
  readonly created_at: string;
}

export interface RevokedLinkReport extends LinkReport {
  readonly revoked_at: string;
  /**
   * Whether the platform ended it too: it may offer no way to say so, or not have confirmed it. Not said of a link that had
   * ended before.
   */
  readonly platform?: "revoked" | "not_offered" | "not_reached";
}

/** Every limit of a credential, as it stands now. */
interface LimitsReport {
  readonly workspace_id: string;
  readonly key_id: string;
  readonly tier: string;
  readonly limits: readonly LimitReport[];
  readonly budget: BudgetReport | null;
  /** What the sign-in of an access token may spend a day; null for a key. */
  readonly sign_in_budget: BudgetReport | null;
  /** Patterns of the only models and operations that the key may call; null where it may call them all. */
  readonly allowed_models: readonly string[] | null;
  readonly allowed_operations: readonly string[] | null;
}

export interface LimitReport {
  readonly name: string;
  /** What it covers: every request, or the operations listed. */
  readonly applies_to: "all" | readonly string[];
  readonly limit: number;
  readonly remaining: number;
  /** Unix seconds. */
  readonly reset: number;
}

interface ExpectedUse {
  readonly expectedRpm: number;
  readonly expectedTpm: number;
  readonly models: readonly string[];
  readonly endpoints: readonly string[];
  readonly useCase: string;
}

export interface BalanceReport {
  readonly currency: "USD";
  readonly balance_micros_usd: number;
  readonly held_micros_usd: number;
  readonly available_micros_usd: number;
  readonly budget: BudgetReport | null;
}

export interface BudgetReport {
  readonly window: "day" | "month" | "total";
  readonly limit_micros_usd: number;
  readonly spent_micros_usd: number;
  readonly held_micros_usd: number;
  readonly remaining_micros_usd: number;
  readonly resets_at: number | null;
}

export type LinkBegun =
  | { readonly kind: "begun"; readonly authUrl: string; readonly state: string; readonly expiresAtMs: number }
  | { readonly kind: "idempotency_conflict"; readonly earlier: EarlierCall };

export interface ModelListing {
  readonly id: string;
  readonly kind: ModelKind;
  readonly owned_by: string;
  readonly max_output_tokens: number | null;
  /** What is asked for, and held for, when a caller sets no limit. */
  readonly default_output_tokens: number | null;
  readonly context_tokens: number | null;
  /** USD per 1,000,000 tokens, as decimal strings, by price word. */
  readonly price_usd_per_million_tokens: Readonly<Record<string, string>>;
  /** USD per second of video, as decimal strings, by resolution; of video models only. */
  readonly price_usd_per_second?: Readonly<Record<string, string>>;
  readonly price_version: string;
}
