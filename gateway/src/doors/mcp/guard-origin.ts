import {
  localhostAllowedHostnames,
  validateHostHeader,
  validateOriginHeader,
} from "@modelcontextprotocol/server";
import type { Addresses } from "../../config/addresses.ts";
import { allowedHosts } from "../../config/addresses.ts";
import { protocolError } from "./protocol-error.ts";

/**
 * A page in a browser must not reach this door under a name that only seems to be ours. Programs send no Origin and
 * pass; a present one must be our own, and so must the Host. On this machine all its names are ours.
 */
export function guardOrigin(
  request: Request,
  addresses: Addresses,
  more: readonly string[],
): Response | undefined {
  const hostnames = new Set(
    [...allowedHosts(addresses, more)].map((host) => new URL(`http://${host}`).hostname),
  );
  const local = localhostAllowedHostnames();
  const ours = local.some((name) => hostnames.has(name)) ? [...hostnames, ...local] : [...hostnames];
  const host = validateHostHeader(request.headers.get("host"), ours);
  if (!host.ok) return protocolError(403, -32000, "This Host is not served here.");
  const origin = validateOriginHeader(request.headers.get("origin"), ours);
  return origin.ok ? undefined : protocolError(403, -32000, "This Origin is not allowed here.");
}
