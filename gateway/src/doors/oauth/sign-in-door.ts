import { approvalPages } from "../../approvals/approval-page.ts";
import { allowedHosts, renameToHost } from "../../config/addresses.ts";
import type { McpConfig } from "../../config/mcp-config.ts";
import { resourceMetadataPath } from "../../grants/challenge.ts";
import { grantScopes } from "../../grants/grants.ts";
import { unusedClientsMax } from "../../grants/sign-in-records.ts";
import {
  clientRegistrations,
  documentsFor,
  documentsFrom,
  signInVisits,
  tryTake,
} from "../../limits/visitor-limits.ts";
import type { AnswerVisit, Door } from "../../platform/door.ts";
import { openLate, type OpenedLate } from "../../platform/open-late.ts";
import { pageResponse } from "../pages/small-page.ts";
import { answerApproval, answerGrants } from "./account-pages.ts";
import {
  issuerOf,
  openAuthorizationServer,
  type Provider,
  type ServerParts,
} from "./authorization-server.ts";
import { completeForm, completeQuery } from "./complete-request.ts";
import { answerConsent, type ConsentParts } from "./consent.ts";
import { searchOf, type PageRequest, type FormParts } from "../people/form.ts";
import { askNodeApp } from "./node-exchange.ts";
import { errorPage } from "../people/message-page.ts";
import { readRegistration, registrationBytesMax } from "./registration.ts";

interface Parts extends Omit<ServerParts, "mayFetch" | "config">, FormParts {
  readonly config: () => McpConfig;
}

/** The authorization server and the pages of its people. Knows who may sign in; decides nothing about money. */
export interface SignInDoor extends Door {
  /** False when the authorization server could not be opened, and still cannot be. */
  readonly isWell: () => Promise<boolean>;
}

const bodyBytesMax = 64 * 1024;

export function createSignInDoor(parts: Parts): SignInDoor {
  const { addresses, limiter } = parts;
  const mayFetch = async (url: string, address: string | undefined): Promise<boolean> =>
    (await tryTake(limiter, documentsFor(address))) && (await tryTake(limiter, documentsFrom(url)));

  // Opened by whoever comes first, and anew after the configuration changed: everything it knows is in the store.
  let current: { readonly config: McpConfig; readonly server: OpenedLate<Provider> } | undefined;
  const server = (): OpenedLate<Provider> => {
    const config = parts.config();
    if (current?.config !== config) {
      const open = (): Promise<Provider> => openAuthorizationServer({ ...parts, config, mayFetch });
      current = { config, server: openLate(open) };
    }
    return current.server;
  };
  const provider = (): Promise<Provider> => server().get();
  const issuer = issuerOf(addresses);
  const encrypted = issuer.startsWith("https:");
  const pages: ConsentParts = { ...parts, provider };
  const resourcePaths = new Set([
    resourceMetadataPath,
    resourceMetadataPath + new URL(addresses.mcpUrl).pathname,
  ]);

  const askServer = async (asked: PageRequest, rawQuery: string, body: Uint8Array): Promise<Response> => {
    const headers: Record<string, string> = {};
    for (const [name, value] of asked.request.headers) headers[name] = value;
    const response = await askNodeApp((await provider()).callback(), {
      method: asked.request.method,
      target: asked.path + searchOf(rawQuery),
      headers: {
        ...headers,
        // What the server says about itself follows from our configuration, never from what a stranger sent.
        host: new URL(issuer).host,
        ...(body.length > 0 ? { "content-length": String(body.length) } : {}),
      },
      body,
      encrypted,
      address: asked.address,
    });
    return withoutSessionCookie(response);
  };

  const register = async (asked: PageRequest, body: Uint8Array): Promise<Response> => {
    if (!(await tryTake(limiter, clientRegistrations(asked.address)))) return tooMany(oauthError);
    const registration = readRegistration(body);
    if (!registration.ok) return oauthError(400, registration.error, registration.why);
    await parts.store.signIns.keepUnused("Client", unusedClientsMax - 1);
    return askServer(asked, "", new TextEncoder().encode(JSON.stringify(registration.metadata)));
  };

  const answer: AnswerVisit = async ({ request, target: { path, rawQuery }, visitor }) => {
    const address = visitor.address();
    const asked: PageRequest = { request, path, search: searchOf(rawQuery), address };
    const say = sayerAt(path);
    const host = request.headers.get("host") ?? "";
    const resource = renameToHost(addresses.mcpUrl, host);
    const describesResource = resourcePaths.has(path);
    // The agent door answers to every name of this machine, and so does what describes it; people sign in under one.
    const isOurs =
      allowedHosts(addresses, parts.config().allowedHosts).has(host) ||
      (describesResource && new URL(resource).host === host);
    if (!isOurs) return foreignHost(say, issuer);
    if (describesResource) return resourceMetadata(request, resource, issuer);
    if (!(await tryTake(limiter, signInVisits(address)))) return tooMany(say);
    if (isPage(path)) {
      if (!pageMethods.has(request.method)) return notAllowed(say, [...pageMethods].join(", "));
      if (path.startsWith("/oauth/sign-in/")) return answerConsent(asked, pages);
      if (path.startsWith(approvalPages)) return answerApproval(asked, pages);
      if (path === "/oauth/grants") return answerGrants(asked, pages);
      return pageResponse(errorPage("Not here", "There is no such page."), 404);
    }
    if (path === "/register" && request.method === "POST") {
      return register(asked, await parts.readBody(request, registrationBytesMax));
    }
    if (path === "/authorize") {
      // A sign-in ends where its issuer is; begun under another name, it would not find its cookies there.
      if (request.headers.get("host") !== new URL(issuer).host) return beginAt(issuer, rawQuery);
      return askServer(asked, completeQuery(rawQuery, addresses.mcpUrl), noBody);
    }
    if (request.method !== "POST") return askServer(asked, rawQuery, noBody);
    const body = await parts.readBody(request, bodyBytesMax);
    return askServer(asked, rawQuery, path === "/token" ? completeForm(body, addresses.mcpUrl) : body);
  };

  const owns = (path: string): boolean =>
    serverPaths.has(path) ||
    resourcePaths.has(path) ||
    path.startsWith("/oauth/") ||
    path.startsWith("/authorize/");

  return {
    name: "sign-in",
    find: (_request, path) => (owns(path) ? answer : undefined),
    refuse: ({ code, status, message }, { target }) => {
      const say = sayerAt(target.path);
      return code === "internal"
        ? say(500, "server_error", "Something went wrong here; try again.")
        : say(status, "invalid_request", message);
    },
    isWell: () => server().isWell(),
  };
}

const serverPaths: ReadonlySet<string> = new Set([
  "/authorize",
  "/token",
  "/register",
  "/revoke",
  "/.well-known/oauth-authorization-server",
  "/.well-known/openid-configuration",
]);

const pageMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST"]);

const noStore = { "cache-control": "no-store" };

/** RFC 9728: what the agent door is called, and who signs people in to it. */
function resourceMetadata(request: Request, resource: string, issuer: string): Response {
  if (request.method !== "GET" && request.method !== "HEAD" && request.method !== "OPTIONS")
    return notAllowed(oauthError, "GET, HEAD, OPTIONS");
  return Response.json(
    {
      resource,
      authorization_servers: [issuer],
      scopes_supported: grantScopes,
      bearer_methods_supported: ["header"],
      resource_name: "Tollgate",
    },
    { headers: { "cache-control": "public, max-age=300", "access-control-allow-origin": "*" } },
  );
}

const noBody = new Uint8Array();

const beginAt = (issuer: string, rawQuery: string): Response =>
  new Response(null, { status: 303, headers: { ...noStore, location: `${issuer}/authorize?${rawQuery}` } });

/** Every sign-in begins anew and asks its person: the server's own memory of an earlier one never leaves it. */
function withoutSessionCookie(response: Response): Response {
  const kept = response.headers.getSetCookie().filter((one) => !one.startsWith("tollgate_session"));
  response.headers.delete("set-cookie");
  for (const one of kept) response.headers.append("set-cookie", one);
  return response;
}

const isPage = (path: string): boolean => path.startsWith("/oauth/") && path !== "/oauth/jwks";

/** A client sends its person's browser to `/authorize`, and does not see what that is told there. */
const isForPeople = (path: string): boolean =>
  isPage(path) || path === "/authorize" || path.startsWith("/authorize/");

/** Says no: to a client in the words of OAuth, to a person with a page. */
type Say = (
  status: number,
  error: string,
  description: string,
  headers?: Readonly<Record<string, string>>,
) => Response;

const sayerAt = (path: string): Say => (isForPeople(path) ? sorryPage : oauthError);

const oauthError: Say = (status, error, description, headers) =>
  Response.json({ error, error_description: description }, { status, headers: { ...noStore, ...headers } });

const sorryPage: Say = (status, _, description, headers) =>
  pageResponse(
    errorPage(status === 403 || status === 405 ? "Not here" : "Please try again", description),
    status,
    headers,
  );

const foreignHost = (say: Say, issuer: string): Response =>
  say(403, "invalid_request", `Sign-in is at ${issuer}; this request was sent to another host.`);

const tooMany = (say: Say): Response =>
  say(429, "temporarily_unavailable", "Too many requests; wait a minute, then try again.", {
    "retry-after": "60",
  });

const notAllowed = (say: Say, allow: string): Response =>
  say(405, "invalid_request", "This method is not served here.", { allow });
