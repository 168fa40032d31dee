import type { Call, PresentedKey } from "../../call/call.ts";
import type { HttpHeaders } from "../../platform/http-request.ts";

const bearer = /^bearer +(\S+)$/i;

/** The key as the caller sent it: a bearer, or the header its dialect's official client uses. Never the query. */
export function presentedKey(
  headers: HttpHeaders,
  { path, rawQuery, offer }: Pick<Call, "path" | "rawQuery" | "offer">,
): PresentedKey {
  const authorization = headers.get("authorization");
  if (authorization !== null && authorization !== "") {
    // Two Authorization headers arrive joined by a comma, which no key contains.
    if (authorization.includes(","))
      return { kind: "malformed", why: "Send exactly one Authorization header." };
    const value = bearer.exec(authorization)?.[1];
    return value === undefined
      ? { kind: "malformed", why: "Authorization: expected Bearer <key>." }
      : { kind: "key", value };
  }
  const { keyHeader: name } = offer.conventionsOf(path);
  const value = name === undefined ? null : headers.get(name);
  if (value !== null && value !== "") return { kind: "key", value };
  return keyInQuery.test(rawQuery) ? { kind: "none", why: unreadInQuery(name) } : noKey(headers, offer);
}

/** As Google's older clients send it, and some for data. Whoever is told that none was sent looks for the mistake in the key. */
const keyInQuery = /(?:^|&)(?:key|api_key|access_token)=[^&]/;

function unreadInQuery(keyHeader: string | undefined): string {
  const orSo = keyHeader === undefined ? "" : `, or as: ${keyHeader}: <key>`;
  return `A key in the query is not read, because addresses are kept in logs. Send it as: Authorization: Bearer <key>${orSo}`;
}

/** A client of another dialect does send its key; whoever looks for the mistake in the key is told where it is. */
function noKey(headers: HttpHeaders, { keyRoots }: Call["offer"]): PresentedKey {
  for (const [name, roots] of keyRoots) {
    if (!headers.get(name)) continue;
    const where = `${name} is read under ${roots.join(", ")} only.`;
    return { kind: "none", why: `${where} Here send the key as: Authorization: Bearer <key>` };
  }
  return { kind: "none" };
}
