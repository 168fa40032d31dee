import { grantScopes } from "./grants.ts";

interface Challenge {
  readonly error: "invalid_token" | "insufficient_scope";
  readonly description: string;
}

/**
 * The `WWW-Authenticate` of a 401 or 403 at the agent door: where to sign in, and what to ask for, which clients take as
 * authoritative. Where no credential was presented at all, nothing is wrong with one.
 */
export function bearerChallenge(mcpUrl: string, challenge: Challenge | undefined): string {
  const members = [
    ...(challenge ? wrongWith(challenge) : []),
    `scope="${grantScopes.join(" ")}"`,
    `resource_metadata="${resourceMetadataUrl(mcpUrl)}"`,
  ];
  return `Bearer ${members.join(", ")}`;
}

const wrongWith = ({ error, description }: Challenge): string[] => [
  `error="${error}"`,
  `error_description="${description.replaceAll(/["\\]/g, "'")}"`,
];

/** RFC 9728 puts the well-known part between the host and the path of the resource. */
export function resourceMetadataUrl(mcpUrl: string): string {
  const { origin, pathname } = new URL(mcpUrl);
  return `${origin}${resourceMetadataPath}${pathname === "/" ? "" : pathname}`;
}

export const resourceMetadataPath = "/.well-known/oauth-protected-resource";
