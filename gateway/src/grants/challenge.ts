import { grantScopes, type GrantScope } from "./grants.ts";

interface Challenge {
  /** Nothing when no credential was presented at all. */
  readonly error?: "invalid_token" | "insufficient_scope";
  readonly description?: string;
  /** Everything the operation needs, in one challenge: clients take it as authoritative. */
  readonly scopes?: readonly GrantScope[];
}

/** The `WWW-Authenticate` of a 401 or 403 at the agent door: where to sign in, and what to ask for. */
export function bearerChallenge(mcpUrl: string, challenge: Challenge = {}): string {
  const { error, description, scopes = grantScopes } = challenge;
  const members = [
    ...(error === undefined ? [] : [`error="${error}"`]),
    ...(description === undefined ? [] : [`error_description="${description.replaceAll(/["\\]/g, "'")}"`]),
    `scope="${scopes.join(" ")}"`,
    `resource_metadata="${resourceMetadataUrl(mcpUrl)}"`,
  ];
  return `Bearer ${members.join(", ")}`;
}

/** RFC 9728 puts the well-known part between the host and the path of the resource. */
export function resourceMetadataUrl(mcpUrl: string): string {
  const { origin, pathname } = new URL(mcpUrl);
  return `${origin}${resourceMetadataPath}${pathname === "/" ? "" : pathname}`;
}

export const resourceMetadataPath = "/.well-known/oauth-protected-resource";
