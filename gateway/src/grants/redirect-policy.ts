/** Where a code may be sent: to a page under https, or back to a program on the person's own machine. */
export function whyNotRedirect(written: unknown): string | undefined {
  if (typeof written !== "string" || written.length > redirectLengthMax) return "it is not an address";
  // A browser drops or rewrites these before it compares; what is compared must be what was written.
  if (/[\s\\\p{Cc}]/u.test(written)) return "it contains a blank, a backslash or a control character";
  const url = URL.parse(written);
  if (!url) return "it is not an address";
  if (url.username !== "" || url.password !== "") return "it contains a user name";
  if (written.includes("#")) return "it contains a fragment";
  if (/(^|\/)(\.|%2e){1,2}(\/|$)/i.test(written.split("?")[0] ?? "")) return "its path climbs";
  if (url.protocol === "https:") return undefined;
  if (url.protocol === "http:" && isLoopback(url.hostname)) return undefined;
  return "it must begin with https://, or with http:// on the loopback address";
}

const redirectLengthMax = 2_000;

/**
 * An address that only a program on the person's machine understands, such as cursor://… (RFC 8252, 7.1). It is no way back
 * for a code, because any program there may say that it understands it; but whoever names it means no harm.
 */
export const isOfAppAlone = (written: unknown): boolean =>
  typeof written === "string" && ofAppAlone.test(written);

const ofAppAlone = /^(?!(?:https?|wss?|ftp|file|blob|data|javascript):)[a-z][a-z\d+.-]*:/i;

export const isLoopback = (hostname: string): boolean =>
  hostname === "localhost" || hostname === "127.0.0.1" || hostname === "[::1]";

/**
 * Exactly as registered; only the port of a loopback address is free, because a program on the person's machine
 * takes whichever port it gets (RFC 8252).
 */
export const isRegisteredRedirect = (registered: readonly string[], asked: string): boolean =>
  registered.includes(asked) ||
  (isLoopbackUrl(asked) &&
    registered.some((one) => isLoopbackUrl(one) && withoutPort(one) === withoutPort(asked)));

function isLoopbackUrl(written: string): boolean {
  const url = URL.parse(written);
  return url !== null && url.protocol === "http:" && isLoopback(url.hostname);
}

/** Compared as text: two spellings of one address are two addresses. */
const withoutPort = (written: string): string =>
  written.replace(/^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])):\d{1,5}(?=[/?]|$)/, "$1");
