import type { EventEmitter } from "node:events";
import type { default as ProviderClass, KoaContextWithOIDC } from "oidc-provider";
import { isLoopback, isRegisteredRedirect } from "../../grants/redirect-policy.ts";
import type { Addresses } from "../../config/addresses.ts";
import type { McpConfig } from "../../config/mcp-config.ts";
import { createSecret } from "../../keys/key-format.ts";
import { describeError, type Log } from "../../platform/log.ts";
import { quietly } from "./quietly.ts";
import { configureServer, nobodysDocument, type ConfigurationParts } from "./server-configuration.ts";

export type Provider = ProviderClass;

export interface ServerParts extends ConfigurationParts {
  readonly log: Log;
}

/** The authorization server of the library, configured, and changed where no configuration reaches. */
export async function openAuthorizationServer(parts: ServerParts): Promise<Provider> {
  const { Provider, errors, interactionPolicy } = await quietly(() => import("oidc-provider"));
  const { log } = parts;
  const configuration = configureServer(parts, { errors, prompts: interactionPolicy.base() });
  const provider = new Provider(issuerOf(parts.addresses), configuration);
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

/** Discovery stays simple: the issuer is the origin, without a path. */
export const issuerOf = ({ baseUrl }: Addresses): string => new URL(baseUrl).origin;

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
