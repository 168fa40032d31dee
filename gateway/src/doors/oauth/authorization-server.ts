import type { EventEmitter } from "node:events";
import type {
  Configuration,
  default as ProviderClass,
  errors as ProviderErrors,
  interactionPolicy as ProviderPolicy,
  KoaContextWithOIDC,
} from "oidc-provider";
import type { Addresses } from "../../config/addresses.ts";
import { grantDaysMax, type McpConfig } from "../../config/mcp-config.ts";
import { grantScopes } from "../../grants/grants.ts";
import { createSecret } from "../../keys/key-format.ts";
import type { Secrets } from "../../keys/secrets.ts";
import { createSealing } from "../../keys/sealing.ts";
import type { Store } from "../../books/store.ts";
import type { Clock } from "../../platform/clock.ts";
import { describeError, type Log } from "../../platform/log.ts";
import { writePage } from "../pages/small-page.ts";
import { errorPage } from "../people/message-page.ts";
import { createCookieSigner } from "./cookie-signer.ts";
import { createRecordAdapters } from "./record-adapter.ts";
import { quietly } from "./quietly.ts";
import { isLoopback, isRegisteredRedirect, whyNotRedirect } from "./redirect-policy.ts";
import { signingKey } from "./signing-key.ts";

export type Provider = ProviderClass;

/** Fetches a small public document by an address that a stranger wrote: https only, and never into our own network. */
export type FetchDocument = (url: string) => Promise<Response>;

export interface ServerParts {
  readonly addresses: Addresses;
  readonly config: McpConfig;
  readonly store: Store;
  readonly secrets: Secrets;
  readonly clock: Clock;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly fetchDocument: FetchDocument;
  /** Whether one more document may be fetched now. */
  readonly mayFetch: (url: string, address: string | undefined) => Promise<boolean>;
  readonly log: Log;
}

const minutes = 60;
const hours = 60 * minutes;
const days = 24 * hours;

/** The authorization server with everything it must be told, because its defaults are not ours. */
export async function openAuthorizationServer(parts: ServerParts): Promise<Provider> {
  const { Provider, errors, interactionPolicy } = await quietly(() => import("oidc-provider"));
  const { log } = parts;
  const provider = new Provider(
    issuerOf(parts.addresses),
    configure(parts, errors, interactionPolicy.base()),
  );
  await quietly(() => provider.Client.find(nobodysDocument).catch(() => undefined));

  // Tokens look like our keys, with a checksum: garbage is refused without a look-up, and logs blot them out.
  nameTokens(provider.AccessToken, () => createSecret("tgo_", parts.randomBytes));
  nameTokens(provider.RefreshToken, () => createSecret("tgr_", parts.randomBytes));
  nameTokens(provider.AuthorizationCode, () => createSecret("tgc_", parts.randomBytes));
  // A client on the person's machine listens on whichever port it got, whatever type it said it is.
  provider.Client.prototype.redirectUriAllowed = function allowed(asked: string) {
    return isRegisteredRedirect(this.redirectUris ?? [], asked);
  };
  provider.on("authorization.error", (ctx, error) => {
    if (maySendAway(ctx, parts.config)) return;
    error.allow_redirect = false;
    ctx.status = 400;
  });
  provider.on("server_error", (_, error) => log.error("sign-in failed unexpectedly", describeError(error)));
  const events: EventEmitter = provider;
  events.on("error", (error) => log.error("sign-in failed unexpectedly", describeError(error)));
  return provider;
}

/** Asked for once, so that the library says what it has to say about fetching while nobody listens. */
const nobodysDocument = "https://document.invalid/";

/**
 * Whether an error is brought to the client by the browser. Anybody can register a client, and a link to us that led
 * on to their page at once would lend it our name (RFC 9700, 4.11.2); so a person has to have answered first. The
 * operator's clients are known, and nobody is led astray to their own machine.
 */
function maySendAway({ oidc }: KoaContextWithOIDC, config: McpConfig): boolean {
  if (oidc.route === "resume" || config.clients.has(oidc.client?.clientId ?? "")) return true;
  const redirect = oidc.params?.["redirect_uri"];
  return typeof redirect === "string" && isLoopback(URL.parse(redirect)?.hostname ?? "");
}

/** Discovery stays simple: the issuer is the origin, without a path. */
export const issuerOf = ({ baseUrl }: Addresses): string => new URL(baseUrl).origin;

function configure(
  parts: ServerParts,
  errors: typeof ProviderErrors,
  prompts: ProviderPolicy.DefaultPolicy,
): Configuration {
  const { addresses, config, store, secrets, clock, randomBytes } = parts;
  const sealing = createSealing(secrets.keyFor("sign-in records"), randomBytes);
  return {
    adapter: createRecordAdapters({
      records: store.signIns,
      grants: store.grants,
      secrets,
      sealing,
      nowMs: clock.wallMs,
      ended: () => new errors.InvalidGrant("the grant has ended, or its code was used"),
    }),
    routes: {
      authorization: "/authorize",
      token: "/token",
      registration: "/register",
      revocation: "/revoke",
      jwks: "/oauth/jwks",
      end_session: "/oauth/end",
    },
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
    clients: [...config.clients].map(([id, client]) => ({
      client_id: id,
      client_name: client.name,
      redirect_uris: [...client.redirectUris],
      ...(client.secret === undefined
        ? { token_endpoint_auth_method: "none" as const }
        : { token_endpoint_auth_method: "client_secret_basic" as const, client_secret: client.secret }),
    })),
    features: {
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
        allowFetch: async (ctx, url) => url === nobodysDocument || (await parts.mayFetch(url, ctx.ip)),
        allowClient: async (_, client) =>
          (client.redirectUris ?? []).every((uri) => whyNotRedirect(uri) === undefined),
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => addresses.mcpUrl,
        useGrantedResource: () => true,
        getResourceServerInfo: (_, resource) => {
          if (resource !== addresses.mcpUrl) throw new errors.InvalidTarget();
          return {
            scope: grantScopes.join(" "),
            audience: addresses.mcpUrl,
            accessTokenFormat: "opaque",
            accessTokenTTL: 1 * hours,
          };
        },
      },
    },
    fetch: (asked) => {
      const url = asked instanceof Request ? asked.url : String(asked);
      if (url === nobodysDocument) return Promise.reject(new Error("There is no such document."));
      return parts.fetchDocument(url);
    },
    fetchResponseBodyLimits: { jwks_uri: 5 * 1024 },
    // Subjects are the same for every client, so sectors mean nothing here; a client's document may still name one,
    // and nobody counts how often it would be fetched.
    sectorIdentifierUriValidate: () => false,
    findAccount: async (_, keyId) => {
      const key = await store.keys.find(keyId);
      const lives = key?.revokedAtMs === undefined && (key?.expiresAtMs ?? Infinity) > clock.wallMs();
      return key && lives ? { accountId: keyId, claims: async () => ({ sub: keyId }) } : undefined;
    },
    // Every sign-in asks its person, so no session is worth keeping; what was granted outlives it.
    expiresWithSession: async () => false,
    issueRefreshToken: async (_, client) => client.grantTypeAllowed("refresh_token"),
    rotateRefreshToken: true,
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
    ttl: {
      AccessToken: 1 * hours,
      AuthorizationCode: 1 * minutes,
      Grant: grantDaysMax * days,
      IdToken: 5 * minutes,
      Interaction: 10 * minutes,
      RefreshToken: 30 * days,
      Session: 10 * minutes,
    },
    renderError: (ctx, out) => {
      const { markup, headers } = writePage(
        errorPage("This cannot be done", out.error_description ?? out.error),
      );
      ctx.type = "html";
      for (const [name, value] of Object.entries(headers)) ctx.set(name, value);
      ctx.body = markup;
    },
  };
}

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

/** The library makes ids of its own and notes a token's format while it does; only the id is replaced. */
function nameTokens({ prototype }: { prototype: object }, newId: () => string): void {
  const usual: unknown = Reflect.get(prototype, "generateTokenId");
  if (typeof usual !== "function")
    throw new Error("The authorization server makes its tokens in another way now.");
  const value = function generateTokenId(this: object): string {
    Reflect.apply(usual, this, []);
    return newId();
  };
  Object.defineProperty(prototype, "generateTokenId", { value });
}
