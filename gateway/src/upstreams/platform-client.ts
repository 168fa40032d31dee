import * as oauth from "oauth4webapi";
import type {
  GivenTokens,
  GrantOutcome,
  PlatformClient,
  Redeemed,
  Redemption,
} from "../links/platform-client.ts";
import type { PlatformUser } from "../links/links.ts";
import type { LinkSettings } from "../operation/upstream.ts";
import { isJsonObject, parseJson } from "../platform/json.ts";
import type { HttpClient } from "./http/http-client.ts";
import { requestHeaders } from "./request-headers.ts";

/** A person waits in front of a browser, or a paid call for its token. */
const timeoutMs = 10_000;

/**
 * OAuth 2.0 by the library made for it, which is strict about every answer; the requests leave by our own client, so
 * they are bounded and follow no redirect. Nothing of an error but its name is kept: its causes hold tokens.
 */
export function createPlatformClient(http: HttpClient): PlatformClient {
  const options = (endpoint: string) => ({
    [oauth.customFetch]: fetchBy(http),
    // Only where the operator wrote http:// for it, or the sandbox listens on this machine.
    [oauth.allowInsecureRequests]: endpoint.startsWith("http://"),
  });

  const redeem = async (platform: LinkSettings, redemption: Redemption): Promise<Redeemed> => {
    const server = serverOf(platform, redemption.issuer);
    const client = { client_id: platform.clientId };
    let answer: URLSearchParams;
    try {
      answer = oauth.validateAuthResponse(server, client, redemption.parameters, redemption.state);
    } catch (error) {
      if (!(error instanceof oauth.AuthorizationResponseError))
        return { kind: "suspicious", why: nameOf(error) };
      return error.error === "access_denied" ? { kind: "denied" } : { kind: "refused", error: error.error };
    }
    if (answer.getAll("code").length !== 1 || answer.get("code") === "") {
      return { kind: "suspicious", why: "not exactly one code" };
    }
    return granted(async () => {
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        authenticationOf(platform),
        answer,
        redemption.redirectUri,
        redemption.verifier,
        { ...options(platform.tokenUrl), additionalParameters: client },
      );
      return oauth.processAuthorizationCodeResponse(server, client, response);
    });
  };

  const refresh = (platform: LinkSettings, refreshToken: string): Promise<GrantOutcome> => {
    const server = serverOf(platform, platform.issuer);
    const client = { client_id: platform.clientId };
    return granted(async () => {
      const response = await oauth.refreshTokenGrantRequest(
        server,
        client,
        authenticationOf(platform),
        refreshToken,
        { ...options(platform.tokenUrl), additionalParameters: client },
      );
      return oauth.processRefreshTokenResponse(server, client, response);
    });
  };

  const revoke = async (platform: LinkSettings, token: string): Promise<boolean> => {
    if (platform.revokeUrl === undefined) return false;
    const server = { ...serverOf(platform, platform.issuer), revocation_endpoint: platform.revokeUrl };
    const client = { client_id: platform.clientId };
    try {
      const sent = { ...options(platform.revokeUrl), additionalParameters: client };
      const response = await oauth.revocationRequest(server, client, authenticationOf(platform), token, sent);
      await oauth.processRevocationResponse(response);
      return true;
    } catch {
      return false;
    }
  };

  return {
    redeem,
    refresh,
    revoke,
    whoIs: async (upstream, { accessToken, scopes }) => {
      if (!scopes.includes("users.read")) return undefined;
      const outcome = await http.send({
        url: `${upstream.url}/users/me`,
        query: upstream.query?.text,
        method: "GET",
        headers: requestHeaders(upstream, { accept: "application/json", hasBody: false, accessToken }),
        body: undefined,
        firstByteTimeoutMs: timeoutMs,
        silenceTimeoutMs: timeoutMs,
      });
      if (outcome.kind === "no_answer") return "unreachable";
      return outcome.status === 200 ? userIn(outcome.body) : undefined;
    },
  };
}

const serverOf = (platform: LinkSettings, issuer: string): oauth.AuthorizationServer => ({
  issuer,
  token_endpoint: platform.tokenUrl,
  authorization_response_iss_parameter_supported: platform.saysIssuer,
});

/**
 * Basic, with the two words percent-encoded no further than they must be: platforms exist that compare them as they
 * come, and a dash is a dash in both readings.
 */
function authenticationOf({ clientSecret }: LinkSettings): oauth.ClientAuth {
  if (clientSecret === undefined) return oauth.None();
  return (_server, client, _body, headers) => {
    const pair = [client.client_id, clientSecret].map(encodeURIComponent).join(":");
    headers.set("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
  };
}

async function granted(ask: () => Promise<oauth.TokenEndpointResponse>): Promise<GrantOutcome> {
  try {
    const tokens = await ask();
    if (tokens.token_type !== "bearer") return { kind: "failed", why: "the token is no bearer token" };
    return { kind: "granted", given: givenTokensOf(tokens) };
  } catch (error) {
    if (error instanceof Unreachable) return { kind: "failed", why: error.message, unreachable: true };
    if (!(error instanceof oauth.ResponseBodyError)) return { kind: "failed", why: nameOf(error) };
    const isRefusal = refusing.has(error.status) && !aboutOurClient.has(error.error);
    return isRefusal ? { kind: "refused", error: error.error } : { kind: "failed", why: error.error };
  }
}

/** RFC 6749 refuses a grant with these alone: whoever asks too often, or is kept out by a wall in between, may ask again. */
const refusing: ReadonlySet<number> = new Set([400, 401]);

/** These are about the operator's client, not about the person's grant. */
const aboutOurClient: ReadonlySet<string> = new Set([
  "invalid_client",
  "unauthorized_client",
  "unsupported_grant_type",
  "server_error",
  "temporarily_unavailable",
]);

const givenTokensOf = (tokens: oauth.TokenEndpointResponse): GivenTokens => ({
  accessToken: tokens.access_token,
  refreshToken: tokens.refresh_token,
  expiresInSeconds: tokens.expires_in,
  scopes: tokens.scope?.split(" ").filter((scope) => scope !== ""),
});

const nameOf = (error: unknown): string => (error instanceof Error ? error.message : "unknown");

class Unreachable extends Error {}

/** What the library fetches by: our client, with its bounds of size and time. */
const fetchBy =
  (http: HttpClient) =>
  async (
    url: string,
    { headers, body }: oauth.CustomFetchOptions<"POST", URLSearchParams>,
  ): Promise<Response> => {
    const outcome = await http.send({
      url,
      method: "POST",
      headers: { ...headers, "accept-encoding": "identity", "user-agent": "tollgate" },
      body: body.toString(),
      firstByteTimeoutMs: timeoutMs,
      silenceTimeoutMs: timeoutMs,
    });
    if (outcome.kind === "no_answer") throw new Unreachable(`no answer: ${outcome.reason}`);
    const { status, contentType } = outcome;
    const bodiless = status === 204 || status === 205;
    return new Response(bodiless ? null : outcome.body, {
      status,
      headers: contentType === undefined ? {} : { "content-type": contentType },
    });
  };

function userIn(body: Uint8Array): PlatformUser | undefined {
  const parsed = parseJson(body);
  const data = parsed.ok && isJsonObject(parsed.value) ? parsed.value["data"] : undefined;
  if (!isJsonObject(data)) return undefined;
  const { id, username } = data;
  // The id becomes part of a path, so it is believed only if it cannot be anything else.
  if (typeof id !== "string" || !/^\d{1,30}$/.test(id)) return undefined;
  return { id, username: typeof username === "string" ? username.slice(0, 100) : id };
}
