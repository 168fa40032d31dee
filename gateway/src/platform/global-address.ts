import { BlockList, isIP } from "node:net";

/**
 * Whether an address belongs to the public internet. Everything set aside for machines themselves, for private
 * networks, for links, tests or translation does not: whoever reaches those from here reaches our own neighbours.
 */
export function isGlobalAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  if (family === 4) return !reserved.check(address, "ipv4");
  const inside = embeddedIpv4(address);
  if (inside !== undefined) return !reserved.check(inside, "ipv4");
  return global6.check(address, "ipv6") && !reserved.check(address, "ipv6");
}

const reserved = new BlockList();
for (const [network, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.31.196.0", 24],
  ["192.52.193.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["192.175.48.0", 24],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const) {
  reserved.addSubnet(network, bits, "ipv4");
}
for (const [network, bits] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["2620:4f:8000::", 48],
  ["3fff::", 20],
] as const) {
  reserved.addSubnet(network, bits, "ipv6");
}

/** Only this part of IPv6 is given out to the public. */
const global6 = new BlockList();
global6.addSubnet("2000::", 3, "ipv6");

/** An IPv4 address in the clothes of IPv6 is judged as what it is. */
function embeddedIpv4(address: string): string | undefined {
  const dotted = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (dotted !== undefined) return dotted;
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(address) ?? [];
  if (high === undefined || low === undefined) return undefined;
  const bytes = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return bytes.flatMap((word) => [word >> 8, word & 255]).join(".");
}
