import { isIP } from "node:net";
import { isGlobalAddress } from "./global-address.ts";

/** Whether what is sent to a host, as an address has it, most likely leaves one's own network. */
export function isPublicHost(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, "");
  return isIP(address) === 0 ? !ownNetwork.test(hostname) : isGlobalAddress(address);
}

/** A name without a dot, or under one of these, is of one's own network; a path is that of a socket of this machine. */
const ownNetwork = /(^(\/|%2[fF]).*|^[^.]+|\.(localhost|local|internal|intranet|lan|svc|home\.arpa))$/;
