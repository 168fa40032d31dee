import { addressSecrets } from "../config/address-secrets.ts";
import type { SalesConfig } from "../config/config.ts";
import type { McpConfig } from "../config/mcp-config.ts";
import type { UpstreamConfig } from "../config/upstream-config.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { createIsProxy, type IsProxy } from "../platform/caller-address.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import { createOffer } from "./create-offer.ts";
import type { Offer, OfferSources } from "./offer.ts";

/**
 * What holds for whoever comes now: an offer, and what else its configuration says to the doors. A reload replaces it
 * whole, so nobody meets half of the old and half of the new.
 */
export interface InForce {
  readonly offer: Offer;
  readonly boundAtMs: number;
  readonly sales: SalesConfig | undefined;
  readonly mcp: McpConfig;
  readonly isProxy: IsProxy;
}

interface Parts {
  readonly store: { readonly ledger: Pick<Ledger, "recordPrices"> };
  readonly clock: Clock;
  readonly log: Log;
}

/** Before anybody can buy, the log knows what it must never say, and the prices are on record. */
export async function bringIntoForce(
  { catalogue, config, sandboxUrl }: OfferSources,
  { store, clock, log }: Parts,
): Promise<InForce> {
  const offer = createOffer(catalogue, config, sandboxUrl);
  log.hide([...config.upstreams.values()].flatMap(hiddenOf));
  if (config.sales) log.hide(addressSecrets(config.sales.url));
  await store.ledger.recordPrices(offer.prices);
  return {
    offer,
    boundAtMs: clock.wallMs(),
    sales: config.sales,
    mcp: config.mcp,
    isProxy: createIsProxy(config.trustedProxies),
  };
}

const hiddenOf = ({ secrets, headers, link }: UpstreamConfig): readonly string[] => [
  ...secrets,
  ...Object.values(headers ?? {}),
  link?.clientSecret ?? "",
];
