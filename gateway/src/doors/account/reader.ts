import { AllowedNames } from "../../keys/allowed-names.ts";
import type { Addresses } from "../../config/addresses.ts";
import type { Key } from "../../keys/keys.ts";
import type { Account } from "../../ledger/accounts.ts";
import type { Store } from "../../store/store.ts";
import { limitsOfCaller } from "../../offer/limits-of-caller.ts";
import type { Offer } from "../../offer/offer.ts";
import type { SelfService } from "../../operation/self-service.ts";
import type { Asker } from "../../operation/asker.ts";
import type { Clock } from "../../platform/clock.ts";
import type { FormParts } from "../people/form.ts";
import type { SignedInVisit } from "../people/with-person.ts";

export interface ReaderParts extends FormParts {
  readonly addresses: Addresses;
  readonly store: Store;
  /** The one that callers are answered by: what a page says, the API says too. */
  readonly selfService: SelfService;
  readonly offer: () => Offer;
  readonly clock: Clock;
  readonly newId: () => string;
}

/** Whoever reads about an account: the same asker as a call with the key they signed in with. */
export interface Reader {
  readonly asker: Asker;
  readonly account: Account;
  readonly key: Key;
  readonly csrf: string;
  readonly signedInAs: string;
  readonly store: Store;
  readonly selfService: SelfService;
  readonly siteUrl: string;
}

export async function openReader(
  { key, csrf, signedInAs }: SignedInVisit,
  { addresses, store, selfService, offer, clock, newId }: ReaderParts,
): Promise<Reader> {
  const account = await store.accounts.find(key.accountId);
  if (!account) throw new Error("A key names an account that is not there.");
  const { accountId, id: keyId, scope, budget, allowedModels, allowedOperations } = key;
  const asker: Asker = {
    accountId,
    keyId,
    scope,
    budget,
    grant: undefined,
    tier: account.tier,
    limits: limitsOfCaller(offer(), account),
    allowedModels: allowedModels && new AllowedNames(allowedModels),
    allowedOperations: allowedOperations && new AllowedNames(allowedOperations),
    nowMs: clock.wallMs(),
    requestId: newId(),
    idempotency: undefined,
  };
  const { siteUrl } = addresses;
  return { asker, account, key, csrf, signedInAs, store, selfService, siteUrl };
}
