// What a client may say about itself when it registers. Everything else is dropped unread, so that a registration can make
// nobody fetch an address, lock itself to the scopes it first heard of, or paint itself as somebody else at length.

import { z } from "zod";
import { isOfAppAlone, whyNotRedirect } from "../../grants/redirect-policy.ts";
import { isJsonObject, parseJson } from "../../platform/json.ts";

export const registrationBytesMax = 16 * 1024;
const clientNameMax = 80;
const redirectsMax = 20;

export type Registration =
  | { readonly ok: true; readonly metadata: object }
  | {
      readonly ok: false;
      readonly error: "invalid_redirect_uri" | "invalid_client_metadata";
      readonly why: string;
    };

const said = z.object({
  redirect_uris: z.array(z.unknown()).min(1).max(redirectsMax),
  client_name: z.string().optional(),
  token_endpoint_auth_method: z.enum(["none", "client_secret_basic", "client_secret_post"]).optional(),
  grant_types: z.array(z.string()).max(10).optional(),
  response_types: z.array(z.literal("code")).max(1).optional(),
});

const grantTypes = ["authorization_code", "refresh_token"];

export function readRegistration(body: Uint8Array): Registration {
  const json = parseJson(body);
  if (!json.ok) return { ok: false, error: "invalid_client_metadata", why: json.why };
  const parsed = said.safeParse(withoutNulls(json.value));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const why = `${issue?.path.join(".") || "the registration"}: ${issue?.message ?? "is not understood"}`;
    return { ok: false, error: "invalid_client_metadata", why };
  }
  const { redirect_uris: named, ...rest } = parsed.data;
  // A desktop program names each way to reach it, in one registration, and takes another where one of them is not accepted.
  const others = named.filter((redirect) => !isOfAppAlone(redirect));
  const redirects = others.length > 0 ? others : named;
  for (const redirect of redirects) {
    const why = whyNotRedirect(redirect);
    if (why !== undefined)
      return { ok: false, error: "invalid_redirect_uri", why: `a redirect URI is refused: ${why}` };
  }
  const asked = rest.grant_types ?? grantTypes;
  return {
    ok: true,
    metadata: {
      ...rest,
      redirect_uris: redirects,
      token_endpoint_auth_method: rest.token_endpoint_auth_method ?? "none",
      grant_types: grantTypes.filter((type) => type === "authorization_code" || asked.includes(type)),
      ...(rest.client_name === undefined ? {} : { client_name: plainName(rest.client_name) }),
    },
  };
}

/** Some clients write null for all that they do not say. */
const withoutNulls = (value: unknown): unknown =>
  isJsonObject(value)
    ? Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
    : value;

/** Without what could break a line or turn its direction around, and no longer than a page has room for. */
export const plainName = (name: string): string =>
  name
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, " ")
    .trim()
    .slice(0, clientNameMax)
    .toWellFormed();
