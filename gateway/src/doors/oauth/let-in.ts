import type { Store } from "../../books/store.ts";
import type { Addresses } from "../../config/addresses.ts";
import type { GrantScope, SpendPolicy } from "../../grants/grants.ts";
import type { Key } from "../../keys/keys.ts";
import type { Secrets } from "../../keys/secrets.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Log } from "../../platform/log.ts";
import { prefixedId } from "../../platform/prefixed-id.ts";
import type { Provider } from "./authorization-server.ts";
import { usedClientMs } from "./record-adapter.ts";

interface Parts {
  readonly provider: () => Promise<Provider>;
  readonly addresses: Addresses;
  readonly store: Store;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly log: Log;
}

/** What a person allowed a client. */
interface Consent {
  readonly key: Key;
  readonly clientId: string;
  readonly clientName: string;
  readonly redirect: URL;
  readonly oidcScopes: readonly string[];
  readonly scopes: readonly GrantScope[];
  readonly policy: SpendPolicy;
}

/** Writes the grant down, here and for the authorization server; returns its id. */
export async function letIn(consent: Consent, parts: Parts): Promise<string> {
  const { store, secrets, clock, log } = parts;
  const { key, clientId, clientName, scopes, policy } = consent;
  const id = prefixedId("gr_", parts.newId);
  const createdAtMs = clock.wallMs();
  const redirectHost = consent.redirect.host;
  await store.grants.create({
    id,
    accountId: key.accountId,
    keyId: key.id,
    clientId,
    clientName,
    redirectHost,
    scopes,
    policy,
    createdAtMs,
  });
  await tellServer(id, consent, parts);

  // A client that was let in once is no flood; it may stay.
  const clientHash = secrets.hashKey(clientId);
  await store.signIns.consume("Client", clientHash, createdAtMs);
  await store.signIns.extend("Client", clientHash, createdAtMs + usedClientMs);
  log.info("a client was let in", { grant_id: id, account_id: key.accountId, redirect_host: redirectHost });
  return id;
}

async function tellServer(
  id: string,
  { key, clientId, oidcScopes, scopes }: Consent,
  { provider, addresses: { mcpUrl } }: Parts,
): Promise<void> {
  const { Grant } = await provider();
  const grant = new Grant({ accountId: key.id, clientId });
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
