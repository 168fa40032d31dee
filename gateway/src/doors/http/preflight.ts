import type { HttpRequest } from "../../platform/http-request.ts";

/** How long a browser need not ask again. */
const rememberedSeconds = 24 * 3600;

/**
 * The question a browser asks before a page from another place may call. Calls are paid with a key that the page itself
 * must have, never with a cookie, so any page may.
 */
export function answerPreflight(request: HttpRequest, newId: () => string): Response | undefined {
  if (request.method !== "OPTIONS") return undefined;
  const { headers } = request;
  if (!headers.has("origin") || !headers.has("access-control-request-method")) return undefined;
  return new Response(null, {
    status: 204,
    headers: {
      "x-request-id": newId(),
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "GET, POST",
      "access-control-allow-headers": headers.get("access-control-request-headers") ?? "authorization",
      "access-control-max-age": String(rememberedSeconds),
      vary: "access-control-request-headers",
    },
  });
}
