import type { Config } from "../../config/config.ts";
import type { UpstreamConfig } from "../../config/upstream-config.ts";
import { isPublicHost } from "../../platform/public-host.ts";

/** What upstreams are asked by that is most often a slip: keys in the clear, no path, and seconds for milliseconds. */
export const doubtfulUpstreams = ({ upstreams }: Config): string[] =>
  [...upstreams].flatMap(([name, upstream]) => [
    ...inTheClear(upstream).map(
      ([setting, host]) =>
        `upstreams.${name}.${setting}: http sends what gives access unencrypted to ${host}; write https`,
    ),
    ...withoutPath(upstream).map(
      (likely) =>
        `upstreams.${name}.url: has no path, under which most vendors answer calls 404; is it ${likely}?`,
    ),
    ...(upstream.timeoutMs === undefined || upstream.timeoutMs >= usualLeastMs
      ? []
      : [
          `upstreams.${name}.timeout_ms: ${upstream.timeoutMs} milliseconds are over before most answers begin, which their ` +
            `vendor bills all the same; a second is ${usualLeastMs}`,
        ]),
  ]);

/** Vendors answer some calls sooner, but none all of them. */
const usualLeastMs = 1_000;

/** By setting, the hosts of the public internet that are told a secret over plain http. */
function inTheClear({ url, secrets, headers, link }: UpstreamConfig): [setting: string, host: string][] {
  const hasSecret = secrets.length > 0 || headers !== undefined || link !== undefined;
  const told = [
    ...(hasSecret ? [["url", url] as const] : []),
    ...(link ? [["token_url", link.tokenUrl] as const, ["revoke_url", link.revokeUrl] as const] : []),
  ];
  return told.flatMap(([setting, address]): [string, string][] => {
    const { protocol, hostname } = (address !== undefined && URL.parse(address)) || {};
    return protocol === "http:" && hostname && isPublicHost(hostname) ? [[setting, hostname]] : [];
  });
}

/**
 * What was probably meant by an address that is a host alone, as official clients want it written, without a password that
 * may stand in it. One's own servers differ in what they take, and DeepSeek takes it.
 */
function withoutPath({ protocol, url }: UpstreamConfig): string[] {
  const path = usualPaths[protocol];
  const { origin = "", hostname = "", pathname } = URL.parse(url) ?? {};
  if (path === undefined || pathname !== "/" || !isPublicHost(hostname)) return [];
  return hostname === "api.deepseek.com" ? [] : [origin + path];
}

const usualPaths: Partial<Record<UpstreamConfig["protocol"], string>> = {
  openai: "/v1",
  anthropic: "/v1",
  gemini: "/v1beta",
};
