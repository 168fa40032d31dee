// What the authorization server is told, because its defaults are not ours.

import type {
  ClientMetadata,
  Configuration,
  errors as ProviderErrors,
  interactionPolicy as ProviderPolicy,
} from "oidc-provider";
import type { Addresses } from "../../config/addresses.ts";
import { grantDaysMax, type McpConfig } from "../../config/mcp-config.ts";
import { grantScopes } from "../../grants/grants.ts";
import { whyNotRedirect } from "../../grants/redirect-policy.ts";
import { isLive } from "../../platform/life.ts";
import { createSealing } from "../../keys/sealing.ts";
import type { Secrets } from "../../keys/secrets.ts";
import type { Store } from "../../store/store.ts";
import type { Clock } from "../../platform/clock.ts";
import { writePage } from "../pages/small-page.ts";
import { errorPage } from "../people/message-page.ts";
import { readClientDocument } from "./client-document.ts";
import { createCookieSigner } from "./cookie-signer.ts";
import { createRecordAdapters } from "./record-adapter.ts";
import { signingKey } from "./signing-key.ts";

/** Fetches a small public document by an address that a stranger wrote: https only, and never into our own network. */
export type FetchDocument = (url: string) => Promise<Response>;

export interface ConfigurationParts {
  readonly addresses: Addresses;
  readonly config: McpConfig;
  readonly store: Store;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly fetchDocument: FetchDocument;
  /** Whether one more document may be fetched now. */
  readonly mayFetch: (url: string, address: string | undefined) => Promise<boolean>;
  /** Whether tokens of a grant may be refreshed once more now. */
  readonly mayRefresh: (grantId: string) => Promise<boolean>;
}

/** What of the library is needed to configure it. */
interface Library {
  readonly errors: typeof ProviderErrors;
  readonly prompts: ProviderPolicy.DefaultPolicy;
}

export function configureServer(parts: ConfigurationParts, { errors, prompts }: Library): Configuration {
  const { config, store, secrets, clock, randomBytes } = parts;
  const sealing = createSealing(secrets.keyFor("sign-in records"), randomBytes);
  return {
    adapter: createRecordAdapters({
      records: store.signIns,
      grants: store.grants,
      secrets,
      sealing,
      nowMs: clock.wallMs,
      knowsRegistered: config.registration === "open",
      ended: () => new errors.InvalidGrant("the grant has ended, or its code was used"),
    }),
    routes,
    scopes: [...grantScopes, "offline_access"],
    responseTypes: ["code"],
    pkce: { required: () => true },
    clientAuthMethods: ["none", "client_secret_basic", "client_secret_post"],
    clientDefaults: {
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      id_token_signed_response_alg: "ES256",
    },
    clients: staticClients(config),
    features: featuresOf(parts, errors),
    fetch: async (asked) => {
      const url = asked instanceof Request ? asked.url : String(asked);
      if (url === nobodysDocument) throw new Error("There is no such document.");
      return readClientDocument(await parts.fetchDocument(url));
    },
    fetchResponseBodyLimits: { jwks_uri: 5 * 1024 },
    // Subjects are the same for every client, so sectors mean nothing here; a client's document may still name one,
    // and nobody counts how often it would be fetched.
    sectorIdentifierUriValidate: () => false,
    findAccount: async (_, keyId) => {
      const key = await store.keys.find(keyId);
      return key && isLive(key, clock.wallMs())
        ? { accountId: keyId, claims: async () => ({ sub: keyId }) }
        : undefined;
    },
    // Every sign-in asks its person, so no session is worth keeping; what was granted outlives it.
    expiresWithSession: async () => false,
    issueRefreshToken: async (_, client) => client.grantTypeAllowed("refresh_token"),
    // Asked before the old token is used up: a client that is told to wait comes back with the same one.
    rotateRefreshToken: async (ctx) => {
      const grantId = ctx.oidc.entities.RefreshToken?.grantId;
      if (grantId !== undefined && (await parts.mayRefresh(grantId))) return true;
      ctx.set("retry-after", "60");
      throw refreshedTooOften(errors);
    },
    // Whoever revokes one token of a grant means the client: nothing of the grant may spend any more.
    revokeGrantPolicy: () => true,
    clientBasedCORS: (_, origin, client) =>
      (client.redirectUris ?? []).some((uri) => URL.parse(uri)?.origin === origin),
    interactions: {
      policy: namingClients(prompts),
      url: (_, interaction) => `/oauth/sign-in/${interaction.uid}`,
    },
    cookies: {
      names: { session: "tollgate_session", interaction: "tollgate_sign_in", resume: "tollgate_resume" },
      keys: createCookieSigner(secrets.keyFor("sign-in cookies")),
      long: { httpOnly: true, sameSite: "lax", signed: true },
      short: { httpOnly: true, sameSite: "lax", signed: true },
    },
    jwks: { keys: [signingKey(secrets.keyFor("sign-in signing key"))] },
    enabledJWA: { idTokenSigningAlgValues: ["ES256"] },
    ttl: lifetimesSeconds,
    renderError,
  };
}

const refreshedTooOften = (errors: Library["errors"]): Error =>
  Object.assign(new errors.OIDCProviderError(429, "temporarily_unavailable"), {
    error_description: "Refreshed too often; wait a minute, then try again.",
  });

const routes: Configuration["routes"] = {
  authorization: "/authorize",
  token: "/token",
  registration: "/register",
  revocation: "/revoke",
  jwks: "/oauth/jwks",
  end_session: "/oauth/end",
};

const staticClients = ({ clients }: McpConfig): ClientMetadata[] =>
  [...clients].map(([id, client]) => ({
    client_id: id,
    client_name: client.name,
    redirect_uris: [...client.redirectUris],
    ...(client.secret === undefined
      ? { token_endpoint_auth_method: "none" as const }
      : { token_endpoint_auth_method: "client_secret_basic" as const, client_secret: client.secret }),
  }));

const featuresOf = (
  { addresses: { mcpUrl }, config, mayFetch }: ConfigurationParts,
  errors: Library["errors"],
): Configuration["features"] => ({
  devInteractions: { enabled: false },
  userinfo: { enabled: false },
  rpInitiatedLogout: { enabled: false },
  pushedAuthorizationRequests: { enabled: false },
  dPoP: { enabled: false },
  revocation: {
    enabled: true,
    allowedPolicy: async (_, client, token) => token.clientId === client.clientId,
  },
  registration: { enabled: config.registration === "open", issueRegistrationAccessToken: false },
  clientIdMetadataDocument: {
    enabled: true,
    ack: "draft-02",
    allowFetch: async (ctx, url) => url === nobodysDocument || (await mayFetch(url, ctx.ip)),
    allowClient: async (_, client) =>
      (client.redirectUris ?? []).every((uri) => whyNotRedirect(uri) === undefined),
  },
  resourceIndicators: {
    enabled: true,
    defaultResource: () => mcpUrl,
    useGrantedResource: () => true,
    getResourceServerInfo: (_, resource) => {
      if (resource !== mcpUrl) throw new errors.InvalidTarget();
      return {
        scope: grantScopes.join(" "),
        audience: mcpUrl,
        accessTokenFormat: "opaque",
        accessTokenTTL: lifetimesSeconds.AccessToken,
      };
    },
  },
});

/** Asked for once, so that the library says what it has to say about fetching while nobody listens. */
export const nobodysDocument = "https://document.invalid/";

const minutes = 60;
const hours = 60 * minutes;
const days = 24 * hours;

const lifetimesSeconds = {
  AccessToken: 1 * hours,
  AuthorizationCode: 1 * minutes,
  Grant: grantDaysMax * days,
  IdToken: 5 * minutes,
  Interaction: 10 * minutes,
  RefreshToken: 30 * days,
  Session: 10 * minutes,
};

/**
 * A sign-in notes what its client is called when it begins. Looking the client up again would mean to fetch its
 * document once more for a person who takes longer than that may be kept.
 */
function namingClients(prompts: ProviderPolicy.DefaultPolicy): ProviderPolicy.DefaultPolicy {
  for (const prompt of prompts) {
    const usual = prompt.details;
    prompt.details = async (ctx) => ({ ...(await usual(ctx)), client_name: ctx.oidc.client?.clientName });
  }
  return prompts;
}

const renderError: Configuration["renderError"] = (ctx, out) => {
  const told = out.error_description ?? out.error;
  const { markup, headers } = writePage(errorPage("This cannot be done", inOurWords.get(told) ?? told));
  ctx.type = "html";
  for (const [name, value] of Object.entries(headers)) ctx.set(name, value);
  ctx.body = markup;
};

/** What the library says of a client that was forgotten helps nobody; the page is for a person, who can do something about it. */
const inOurWords: ReadonlyMap<string, string> = new Map([
  [
    "client is invalid",
    "This client is not known here, or not any more. Remove the connection in your client and add it again.",
  ],
]);
