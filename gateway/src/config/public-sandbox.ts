import { isThisMachine } from "./addresses.ts";
import type { Config } from "./config.ts";
import type { Settings } from "./environment.ts";

/** A sandbox answers anybody with made-up data; on a public address that needs a deliberate word. */
export function checkPublic(
  config: Config,
  { settings, allowSandboxPublic }: { readonly settings: Settings; readonly allowSandboxPublic: boolean },
): void {
  if (config.sandbox === "off" || allowSandboxPublic) return;
  const open = publicPlace(settings);
  if (open === undefined) return;
  throw new Error(
    `${open} with the sandbox on would sell made-up data to strangers. ` +
      "Set sandbox: off in tollgate.yaml, or start with --allow-sandbox-public.",
  );
}

/** Where strangers find this gateway: where it listens, or, behind a proxy on this machine, by the address it is told. */
function publicPlace({ host, baseUrl, siteUrl, mcpUrl }: Settings): string | undefined {
  if (!isThisMachine(host)) return `Listening on ${host}`;
  const known = [baseUrl, siteUrl, mcpUrl].find(
    (url) => url !== undefined && !isThisMachine(new URL(url).hostname),
  );
  return known === undefined ? undefined : `Being known as ${known}`;
}
