import type { Store } from "../../store/store.ts";
import type { Addresses } from "../../config/addresses.ts";
import { lifeOfGrant, type Grant, type GrantScope, type SpendPolicy } from "../../grants/grants.ts";
import type { Key } from "../../keys/keys.ts";
import type { Secrets } from "../../keys/secrets.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import type { Provider } from "./authorization-server.ts";
import { usedClientMs } from "./record-adapter.ts";

interface Parts {
  readonly provider: () => Promise<Provider>;
  readonly addresses: Addresses;
  readonly store: Store;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly log: Log;
}

/** What a person allowed a client. */
interface Consent {
  readonly interactionId: string;
  readonly key: Key;
  readonly clientId: string;
  readonly clientName: string;
  readonly redirect: URL;
  readonly oidcScopes: readonly string[];
  readonly scopes: readonly GrantScope[];
  readonly spendPolicy: SpendPolicy;
}

/**
 * Writes the grant down, here and for the authorization server; returns its id. The first yes to a sign-in stands: whoever
 * presses the button twice lets one client in, within the bounds they set first. Undefined when that grant has ended
 * meanwhile, or was given with another key.
 */
export async function letIn(consent: Consent, parts: Parts): Promise<string | undefined> {
  const { store, secrets, clock, log } = parts;
  const { key, clientId, clientName, scopes, spendPolicy } = consent;
  const id = grantIdOf(consent.interactionId, secrets);
  const createdAtMs = clock.wallMs();
  const redirectHost = consent.redirect.host;
  const isFirst = await store.grants.create({
    id,
    accountId: key.accountId,
    keyId: key.id,
    clientId,
    clientName,
    redirectHost,
    scopes,
    spendPolicy,
    createdAtMs,
  });
  const grant = await store.grants.find(id);
  if (grant?.keyId !== key.id || lifeOfGrant(grant, createdAtMs) !== "active") return undefined;
  await tellServer(grant, consent, parts);

  // A client that was let in once is no flood; it may stay.
  const clientHash = secrets.hashKey(clientId);
  await store.signIns.consume("Client", clientHash, createdAtMs);
  await store.signIns.extend("Client", clientHash, createdAtMs + usedClientMs);
  if (isFirst)
    log.info("a client was let in", { grant_id: id, account_id: key.accountId, redirect_host: redirectHost });
  return id;
}

/** A sign-in leads to one grant, however often a button is pressed. The grant's id does not give the sign-in away. */
export function grantIdOf(interactionId: string, secrets: Secrets): string {
  const hash = new Bun.CryptoHasher("sha256", secrets.keyFor("grant ids"))
    .update(interactionId)
    .digest("hex");
  return `gr_${hash.slice(0, 32)}`;
}

async function tellServer(
  { id, keyId, clientId, scopes }: Grant,
  { oidcScopes }: Consent,
  { provider, addresses: { mcpUrl } }: Parts,
): Promise<void> {
  const server = await provider();
  const grant = new server.Grant({ accountId: keyId, clientId });
  grant.jti = id;
  const refused = scopes.includes("tools:spend") ? [] : ["tools:spend"];
  grant.addOIDCScope([...oidcScopes.filter((scope) => !refused.includes(scope)), ...scopes].join(" "));
  grant.addResourceScope(mcpUrl, scopes.join(" "));
  if (refused.length > 0) {
    grant.rejectOIDCScope(refused.join(" "));
    grant.rejectResourceScope(mcpUrl, refused.join(" "));
  }
  await grant.save();
}
