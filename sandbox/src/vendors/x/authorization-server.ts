// The platform's authorization server: a certified one (oidc-provider), told to be as the platform is.
// It tells time by the machine's clock, not by the sandbox's.

import { generateKeyPairSync } from "node:crypto";
import type * as Library from "oidc-provider";
import type { Configuration, Provider } from "oidc-provider";
import { errorPage } from "./pages.ts";
import { personById } from "./persons.ts";
import { scopeWords } from "./scopes.ts";
import type { TokenStore } from "./token-store.ts";

/** The one app that is registered; it is us. */
const client = { id: "tollgate-sandbox", secret: "tollgate-sandbox-secret", name: "Tollgate (sandbox)" };

const secondsPerDay = 24 * 60 * 60;

export async function createAuthorizationServer(issuer: string, store: TokenStore): Promise<Provider> {
  const library = await importQuietly();
  const server = new library.Provider(issuer, {
    adapter: (kind) => store.drawer(kind),
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        client_name: client.name,
        // A web app must name one; which ones are really allowed is said below.
        redirect_uris: ["https://app.invalid/oauth_callback"],
        response_types: ["code"],
        grant_types: ["authorization_code", "refresh_token"],
        token_endpoint_auth_method: "client_secret_basic",
        id_token_signed_response_alg: "ES256",
      },
    ],
    ...flow(issuer, library),
    cookies: cookies(issuer),
    // Nothing here is signed: tokens are opaque and there are no identity tokens. The library wants a key.
    jwks: { keys: [generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" })] },
  });
  // The address to come back to is known by the program that started us, not by us.
  server.Client.prototype.redirectUriAllowed = isCallback;
  // The sandbox's own door says where the browser believes to be.
  server.proxy = true;
  return server;
}

const flow = (issuer: string, library: typeof Library): Configuration => ({
  scopes: Object.keys(scopeWords),
  responseTypes: ["code"],
  clientAuthMethods: ["client_secret_basic"],
  pkce: { required: () => true },
  routes: { authorization: "/oauth2/authorize", token: "/oauth2/token", revocation: "/oauth2/revoke" },
  features: {
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    resourceIndicators: { enabled: false },
    revocation: {
      enabled: true,
      allowedPolicy: async (_ctx, { clientId }, token) => token.clientId === clientId,
    },
    rpInitiatedLogout: { enabled: false },
    userinfo: { enabled: false },
  },
  ttl: {
    AuthorizationCode: 30,
    AccessToken: 2 * 60 * 60,
    RefreshToken: 180 * secondsPerDay,
    Grant: 180 * secondsPerDay,
    Interaction: 10 * 60,
    Session: secondsPerDay,
  },
  findAccount: (_ctx, id) =>
    personById(id) === undefined ? undefined : { accountId: id, claims: () => ({ sub: id }) },
  interactions: {
    url: ({ querystring }, { uid }) => {
      // The library passes over scopes it does not know; the platform does not.
      const scopes = new URLSearchParams(querystring).get("scope")?.split(" ") ?? [];
      const unknown = scopes.find((scope) => scopeWords[scope] === undefined);
      if (unknown !== undefined) throw new library.errors.InvalidScope("unknown scope", unknown);
      return `${issuer}/interaction/${uid}`;
    },
  },
  // As the platform does, the member is asked each time, and each answer is a permission of its own.
  loadExistingGrant: async ({ oidc }) => {
    const grantId = oidc.result?.consent?.grantId;
    return grantId === undefined ? undefined : oidc.provider.Grant.find(grantId);
  },
  issueRefreshToken: async (_ctx, _client, source) => source.scopes.has("offline.access"),
  rotateRefreshToken: true,
  // Signing out of the platform does not take permissions back.
  expiresWithSession: async () => false,
  renderError: (ctx, { error, error_description: description }) => {
    ctx.type = "html";
    ctx.body = errorPage(description ?? error);
  },
});

/**
 * Kept below the issuer's path and under names of their own: the gateway at the same address has cookies too.
 * They hold ids that nobody can guess, so they are not signed.
 */
const cookies = (issuer: string): Configuration["cookies"] => ({
  names: {
    session: "sandbox_x_session",
    interaction: "sandbox_x_interaction",
    resume: "sandbox_x_resume",
  },
  long: { httpOnly: true, sameSite: "lax", path: new URL(issuer).pathname },
  short: { httpOnly: true, sameSite: "lax" },
});

/** Any address that could be a gateway's: it need not be known before, as the sandbox may start first. */
function isCallback(value: string): boolean {
  const url = URL.parse(value);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.pathname.endsWith("/oauth_callback") &&
    url.username + url.password + url.hash === ""
  );
}

/**
 * The library warns on Bun that it is made for Node. What differs, its guard of requests that it sends itself,
 * does not matter here: it sends none. Imported when first needed, because most runs of the sandbox do not.
 */
async function importQuietly(): Promise<typeof Library> {
  const warn: unknown = Reflect.get(globalThis.console, "warn");
  globalThis.console.warn = () => undefined;
  try {
    return await import("oidc-provider");
  } finally {
    Reflect.set(globalThis.console, "warn", warn);
  }
}
