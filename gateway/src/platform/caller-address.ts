import { BlockList, isIP } from "node:net";

/** Tells whether an address is one of the operator's own proxies. */
export type IsProxy = (address: string) => boolean;

/** An address, or a network as 10.0.0.0/8. */
export function isNetwork(written: string): boolean {
  const [address = "", bits, ...more] = written.split("/");
  const family = isIP(address);
  if (family === 0 || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}

export function createIsProxy(networks: readonly string[]): IsProxy {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits] = network.split("/");
    const family = isIP(address) === 4 ? "ipv4" : "ipv6";
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (address) => {
    const plain = withoutMapping(address);
    const family = isIP(plain);
    return family !== 0 && list.check(plain, family === 4 ? "ipv4" : "ipv6");
  };
}

/**
 * Where a request came from. Anybody can write X-Forwarded-For, so it is read from its end, and only as far as our own
 * proxies wrote it: the first address that is none of theirs is the caller's.
 */
export function callerAddress(
  peer: string | undefined,
  forwardedFor: string | null,
  isProxy: IsProxy,
): string | undefined {
  let address = peer;
  const hops = forwardedFor === null ? [] : forwardedFor.split(",");
  while (address !== undefined && isProxy(address) && hops.length > 0) {
    const hop = withoutPort((hops.pop() ?? "").trim());
    // An entry that is not an address ends the search: nobody we know wrote what stands before it.
    if (isIP(hop) === 0) break;
    address = hop;
  }
  return address;
}

/** Some proxies write where the connection came from to the last digit, and each one of a caller's has another port. */
function withoutPort(hop: string): string {
  const { v4, v6 } = withPort.exec(hop)?.groups ?? {};
  return v4 ?? (v6 !== undefined && isIP(v6) === 6 ? v6 : hop);
}

const withPort = /^(?:(?<v4>[\d.]+):\d{1,5}|\[(?<v6>[^\]]+)\](?::\d{1,5})?)$/;

/** Whom to blame for what came from an address: who has one of IPv6 has a whole /64 of them. */
export function addressBlock(address: string | undefined): string {
  if (address === undefined) return "unknown";
  const plain = withoutMapping(address);
  return plain.includes(":") ? `${networkOf(plain)}::/64` : plain;
}

/** The first four groups in one spelling. Which zeros an address leaves out depends on those behind them, too. */
function networkOf(address: string): string {
  const [before = [], behind = []] = address.replace(dottedEnd, "0:0").split("::").map(groupsIn);
  const leftOut = Array.from({ length: 8 - before.length - behind.length }, () => "0");
  const groups = [...before, ...leftOut, ...behind].slice(0, 4);
  return groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":");
}

const groupsIn = (text: string): string[] => (text === "" ? [] : text.split(":"));

/** The last two groups, written as an address of IPv4. */
const dottedEnd = /[\d.]+\.\d+$/;

const withoutMapping = (address: string): string =>
  /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
