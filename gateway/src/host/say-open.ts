import type { Addresses } from "../config/addresses.ts";
import type { Config } from "../config/config.ts";
import type { Settings } from "../config/environment.ts";
import type { Secrets } from "../keys/secrets.ts";
import { exampleCostMicros } from "../offer/examples/example-cost.ts";
import { exampleRequest, type ExampleRequest } from "../offer/examples/example-request.ts";
import { firstCall } from "../offer/examples/first-call.ts";
import type { Offer } from "../offer/offer.ts";
import type { Clock } from "../platform/clock.ts";
import type { Log } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { Micros } from "../platform/money.ts";
import type { Store } from "../store/store.ts";
import { createDemoAccount } from "./demo-account.ts";
import { greeting } from "./greeting.ts";

/** Says that it is open: words for people, the same facts for a program. */
export type Greet = (words: string, facts: OpenFacts) => void;

/** The account and its key are told when they were just made, and never again. */
interface OpenFacts {
  readonly address: string;
  readonly account_id?: string | undefined;
  readonly key_id?: string | undefined;
  readonly key?: string | undefined;
}

interface Parts {
  readonly settings: Settings;
  readonly version: string;
  readonly store: Store;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly greet: Greet;
}

/** Says that it is open. On a fresh installation whoever reads it gets an account and a first call to try. */
export async function sayOpen(parts: Parts, { offer, config, addresses, listensOn }: Opened): Promise<void> {
  const { settings, log, version } = parts;
  const { baseUrl } = addresses;
  const newKey = await createDemoAccount({
    ...parts,
    signupCreditMicros: config.signupCreditMicros,
    nowMs: parts.clock.wallMs(),
  });
  const words = greeting({
    addresses,
    listensOn: settings.baseUrl === undefined ? undefined : listensOn,
    newKey,
    sandbox: config.sandbox !== "off",
    firstCall: newKey === undefined ? undefined : payableExample(offer, config.signupCreditMicros),
  });
  parts.greet(words, { address: baseUrl, ...(await ownerOf(newKey, parts)) });
  parts.metrics.gauge("tollgate_build_info", () => [[{ version }, 1]]);
  log.info("serving", {
    version,
    address: baseUrl,
    listens_on: listensOn,
    operations: offer.operations.size,
  });
}

interface Opened {
  readonly offer: Offer;
  readonly config: Config;
  readonly addresses: Addresses;
  readonly listensOn: string;
}

async function ownerOf(
  key: string | undefined,
  { store, secrets, clock }: Parts,
): Promise<Omit<OpenFacts, "address">> {
  if (key === undefined) return {};
  const owner = await store.keys.findCredential(secrets.hashKey(key), clock.wallMs());
  return { account_id: owner?.accountId, key_id: owner?.keyId, key };
}

/**
 * Nobody is shown a first call that their credit does not cover, or whose price cannot be told: it would be refused as
 * pasted. An operator's own operation may throw here, which is no reason not to start.
 */
function payableExample(offer: Offer, creditMicros: Micros): ExampleRequest | undefined {
  const first = firstCall(offer);
  const request = first && exampleRequest(first, offer.names);
  if (!request) return undefined;
  try {
    const costMicros = exampleCostMicros(first, request);
    return costMicros !== undefined && costMicros <= creditMicros ? request : undefined;
  } catch {
    return undefined;
  }
}
