import { isLoopback } from "../grants/redirect-policy.ts";

/** The addresses under which callers, agents and readers know this gateway. None ends with a slash. */
export interface Addresses {
  readonly baseUrl: string;
  readonly mcpUrl: string;
  readonly siteUrl: string;
}

/** Where a listener is found that was given no public address. */
export const addressOf = (host: string, port: number): string => `http://${urlHost(host)}:${port}`;

const urlHost = (host: string): string =>
  host === "0.0.0.0" || host === "::" ? "127.0.0.1" : bracketed(host);

const bracketed = (host: string): string =>
  host.includes(":") && !host.startsWith("[") ? `[${host}]` : host;

/** What a listener was told, as a proxy in front of it must know it. */
export const hostAndPort = (host: string, port: number): string => `${bracketed(host)}:${port}`;

/** Each can be set apart; what is not set follows the base address. */
export const completeAddresses = (
  baseUrl: string,
  set: { readonly mcpUrl?: string | undefined; readonly siteUrl?: string | undefined } = {},
): Addresses => ({ baseUrl, mcpUrl: set.mcpUrl ?? `${baseUrl}/mcp`, siteUrl: set.siteUrl ?? baseUrl });

/** Where people see what their key spends, under the same host as they sign in at. */
export const accountPage = "/account";

export const accountPageUrl = ({ baseUrl }: Addresses): string => new URL(accountPage, baseUrl).href;

/** The origins that pages of ours can have, and so their forms. Of other names nobody says whether they speak https. */
export const ownOrigins = (
  { baseUrl, mcpUrl, siteUrl }: Addresses,
  moreHosts: readonly string[],
): ReadonlySet<string> =>
  new Set([
    ...[baseUrl, mcpUrl, siteUrl].map((url) => new URL(url).origin),
    ...moreHosts.flatMap((host) => [`http://${host}`, `https://${host}`]),
  ]);

/** The hosts under which pages that trust the browser's view of us may be asked for; any other is a rebinding. */
export const allowedHosts = (addresses: Addresses, more: readonly string[]): ReadonlySet<string> =>
  new Set([...urlsOf(addresses).map((url) => new URL(url).host), ...more]);

/** Whether a request was sent to one of them. */
export const isAllowedHost = (host: string | null, addresses: Addresses, more: readonly string[]): boolean =>
  urlsOf(addresses).some((url) => namesHostOf(url, host)) || more.includes(host ?? "");

const urlsOf = ({ baseUrl, mcpUrl, siteUrl }: Addresses): readonly string[] => [baseUrl, mcpUrl, siteUrl];

/**
 * Whether a request's `Host` is that of an address of ours. It may be in capitals, and name the port that goes without
 * saying, as many proxies do.
 */
export function namesHostOf(url: string, host: string | null): boolean {
  const { protocol, host: ours } = new URL(url);
  const asked = host?.toLowerCase();
  return asked === ours || asked === `${ours}:${protocol === "https:" ? 443 : 80}`;
}

/**
 * An address of ours under the name by which it was asked for, where both are names of this machine: clients take no other
 * for the one they know. What anybody else calls us is not said back to them.
 */
export function renameToHost(url: string, host: string | null): string {
  const ours = new URL(url);
  const asked = URL.parse(`http://${host}`);
  if (ours.protocol !== "http:" || !isLoopback(ours.hostname)) return url;
  if (!asked || asked.host !== host || !isLoopback(asked.hostname) || asked.port !== ours.port) return url;
  return `${asked.origin}${url.slice(ours.origin.length)}`;
}

/** Whether only this machine finds that host. */
export const isThisMachine = (host: string): boolean =>
  /^(127\.[\d.]+|(.+\.)?localhost|::1|\[::1\])$/.test(host);
