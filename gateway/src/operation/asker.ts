import type { TokenGrant } from "../grants/grants.ts";
import type { Allowed } from "../keys/allowed-names.ts";
import type { Budget } from "../keys/keys.ts";
import type { IdempotencyClaim } from "../ledger/ledger.ts";
import type { TierLimits, TierName } from "../limits/tiers.ts";

/** Who is asking, as an operation answered by the gateway itself sees it. */
export interface Asker extends Allowed {
  readonly accountId: string;
  readonly keyId: string;
  readonly scope: "key" | "account";
  readonly budget: Budget | undefined;
  /** The sign-in behind an access token, and what it may spend a day; a key has none. */
  readonly grant: Pick<TokenGrant, "id" | "spendPolicy"> | undefined;
  readonly tier: TierName;
  readonly limits: TierLimits;
  readonly nowMs: number;
  /** The id of this very request, and the idempotency key it came with. */
  readonly requestId: string;
  readonly idempotency: IdempotencyClaim | undefined;
  /** Whether a link begins on our own page, whatever the configuration says. */
  readonly confirmsLinks?: true | undefined;
}
