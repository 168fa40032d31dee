import { approvalPages } from "../../approvals/approval-page.ts";
import { isAllowedHost, renameToHost } from "../../config/addresses.ts";
import type { McpConfig } from "../../config/mcp-config.ts";
import {
  documentsFor,
  documentsFrom,
  signInVisits,
  tokenRefreshes,
  tryTake,
} from "../../limits/visitor-limits.ts";
import type { AnswerVisit, Door } from "../../platform/door.ts";
import { openLate, type OpenedLate } from "../../platform/open-late.ts";
import { pageResponse } from "../pages/small-page.ts";
import { searchOf, type PageRequest, type FormParts } from "../people/form.ts";
import { clientsPage } from "../people/account-layout.ts";
import { errorPage } from "../people/message-page.ts";
import { answerApproval, answerGrants } from "./account-pages.ts";
import {
  issuerOf,
  openAuthorizationServer,
  type Provider,
  type ServerParts,
} from "./authorization-server.ts";
import { answerConsent, type ConsentParts } from "./consent.ts";
import { createProtocolEndpoints } from "./protocol-endpoints.ts";
import { resourceMetadata, resourceMetadataPaths } from "./resource-metadata.ts";
import { foreignHost, isPage, notAllowed, sayerAt, tooMany } from "./sign-in-refusals.ts";

interface Parts extends Omit<ServerParts, "mayFetch" | "mayRefresh" | "config">, FormParts {
  readonly config: () => McpConfig;
}

/** The authorization server and the pages of its people. Knows who may sign in; decides nothing about money. */
export interface SignInDoor extends Door {
  /** False when the authorization server could not be opened, and still cannot be. */
  readonly isWell: () => Promise<boolean>;
}

export function createSignInDoor(parts: Parts): SignInDoor {
  const { addresses, limiter } = parts;
  const issuer = issuerOf(addresses);
  const resourcePaths = resourceMetadataPaths(addresses.mcpUrl);
  const server = followConfig(parts);
  const pages: ConsentParts = { ...parts, provider: () => server().get() };
  const answerEndpoint = createProtocolEndpoints(pages);

  const answer: AnswerVisit = async ({ request, target: { path, rawQuery }, visitor }) => {
    const address = visitor.address();
    const asked: PageRequest = { request, path, search: searchOf(rawQuery), address };
    const say = sayerAt(path);
    const host = request.headers.get("host") ?? "";
    const resource = renameToHost(addresses.mcpUrl, host);
    const describesResource = resourcePaths.has(path);
    // The agent door answers to every name of this machine, and so does what describes it; people sign in under one.
    const isOurs =
      isAllowedHost(host, addresses, parts.config().allowedHosts) ||
      (describesResource && new URL(resource).host === host);
    if (!isOurs) return foreignHost(say, issuer);
    if (describesResource) return resourceMetadata(request, resource, issuer);
    if (!(await tryTake(limiter, signInVisits(address)))) return tooMany(say);
    return isPage(path) ? answerPage(asked, pages) : answerEndpoint(asked);
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

/** Opened by whoever comes first, and anew after the configuration changed: everything it knows is in the store. */
function followConfig(parts: Parts): () => OpenedLate<Provider> {
  const { limiter } = parts;
  const mayFetch = async (url: string, address: string | undefined): Promise<boolean> =>
    (await tryTake(limiter, documentsFor(address))) && (await tryTake(limiter, documentsFrom(url)));
  const mayRefresh = (grantId: string): Promise<boolean> => tryTake(limiter, tokenRefreshes(grantId));

  let current: { readonly config: McpConfig; readonly server: OpenedLate<Provider> } | undefined;
  return () => {
    const config = parts.config();
    if (current?.config !== config) {
      const open = (): Promise<Provider> =>
        openAuthorizationServer({ ...parts, config, mayFetch, mayRefresh });
      current = { config, server: openLate(open) };
    }
    return current.server;
  };
}

const pageMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST"]);

async function answerPage(asked: PageRequest, parts: ConsentParts): Promise<Response> {
  const { request, path } = asked;
  if (!pageMethods.has(request.method)) return notAllowed(sayerAt(path), [...pageMethods].join(", "));
  if (path.startsWith("/oauth/sign-in/")) return answerConsent(asked, parts);
  if (path.startsWith(approvalPages)) return answerApproval(asked, parts);
  if (path === clientsPage) return answerGrants(asked, parts);
  if (path === `${clientsPage}/`) {
    return new Response(null, { status: 308, headers: { location: clientsPage + asked.search } });
  }
  return pageResponse(errorPage("Not here", "There is no such page."), 404);
}
