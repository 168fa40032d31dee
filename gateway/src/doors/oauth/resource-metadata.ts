import { resourceMetadataPath } from "../../grants/challenge.ts";
import { grantScopes } from "../../grants/grants.ts";
import { notAllowed, oauthError } from "./sign-in-refusals.ts";

/** Where the description is looked for: at the root, and at the path of what it describes. */
export const resourceMetadataPaths = (mcpUrl: string): ReadonlySet<string> =>
  new Set([resourceMetadataPath, resourceMetadataPath + new URL(mcpUrl).pathname]);

/** RFC 9728: what the agent door is called, and who signs people in to it. */
export function resourceMetadata(request: Request, resource: string, issuer: string): Response {
  if (!methods.has(request.method)) return notAllowed(oauthError, [...methods].join(", "));
  return Response.json(
    {
      resource,
      authorization_servers: [issuer],
      scopes_supported: grantScopes,
      bearer_methods_supported: ["header"],
      resource_name: "Tollgate",
    },
    { headers: { "cache-control": "public, max-age=300", ...forAnyPage } },
  );
}

/** Clients that are pages name the revision they speak in a header, for which their browser asks first. */
const forAnyPage = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };

const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);
