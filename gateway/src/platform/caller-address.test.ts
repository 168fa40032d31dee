import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { addressBlock, callerAddress, createIsProxy, isNetwork } from "./caller-address.ts";

const isProxy = createIsProxy(["10.0.0.0/8", "127.0.0.1", "2001:db8::/32"]);

test.each([
  ["without proxies between", "203.0.113.7", null, "203.0.113.7"],
  ["a stranger's own word is not taken", "203.0.113.7", "198.51.100.1", "203.0.113.7"],
  ["behind one proxy", "127.0.0.1", "198.51.100.1", "198.51.100.1"],
  ["behind two", "10.1.2.3", "198.51.100.1, 10.9.9.9", "198.51.100.1"],
  ["what the caller wrote before", "127.0.0.1", "1.2.3.4, 198.51.100.1", "198.51.100.1"],
  ["a proxy in IPv6 clothes", "::ffff:127.0.0.1", "198.51.100.1", "198.51.100.1"],
  ["IPv6", "2001:db8::1", "2001:470::5", "2001:470::5"],
  ["an address with its port", "127.0.0.1", "198.51.100.1:50312", "198.51.100.1"],
  ["IPv6 with its port", "127.0.0.1", "[2001:470::5]:443", "2001:470::5"],
  ["IPv6 in brackets alone", "127.0.0.1", "[2001:470::5]", "2001:470::5"],
  ["a proxy with its port", "127.0.0.1", "198.51.100.1:50312, 10.9.9.9:80", "198.51.100.1"],
  ["brackets around anything else", "127.0.0.1", "[198.51.100.1]:443", "127.0.0.1"],
  ["a port that is none", "127.0.0.1", "198.51.100.1:http", "127.0.0.1"],
  ["a proxy that says nothing", "127.0.0.1", null, "127.0.0.1"],
  ["nonsense ends the reading", "127.0.0.1", "198.51.100.1, unknown", "127.0.0.1"],
  ["an empty word", "127.0.0.1", "", "127.0.0.1"],
  ["only proxies", "127.0.0.1", "10.0.0.1", "10.0.0.1"],
  ["no peer", undefined, "198.51.100.1", undefined],
])("%s", (_, peer, forwardedFor, caller) => {
  expect(callerAddress(peer, forwardedFor, isProxy)).toBe(caller);
});

test("a network is an address, or an address and its bits", () => {
  for (const network of ["10.0.0.1", "10.0.0.0/8", "::1", "2001:db8::/32"])
    expect(isNetwork(network)).toBe(true);
  for (const not of ["", "proxy", "10.0.0.0/33", "10.0.0.0/", "10.0.0/8", "::/129", "10.0.0.0/8/8"]) {
    expect(isNetwork(not)).toBe(false);
  }
});

describe("whoever asks is one of a block of addresses", () => {
  test.each([
    ["all of IPv4", "203.0.113.7", "203.0.113.7"],
    ["the same in IPv6 clothes", "::ffff:203.0.113.7", "203.0.113.7"],
    ["a /64 of IPv6", "2001:470:1:2:3:4:5:6", "2001:470:1:2::/64"],
    ["with zeros left out in the middle of its first half", "2a02::5:1:2:3:4", "2a02:0:0:5::/64"],
    ["with zeros left out behind that", "2A02:0:0:05::1", "2a02:0:0:5::/64"],
    ["with zeros left out across the middle", "2a02:1::1", "2a02:1:0:0::/64"],
    ["that ends like one of IPv4", "64:ff9b:1:2:3::192.0.2.33", "64:ff9b:1:2::/64"],
    ["that is this machine's", "::1", "0:0:0:0::/64"],
    ["nobody knows", undefined, "unknown"],
  ])("%s", (_, address, block) => {
    expect(addressBlock(address)).toBe(block);
  });

  test("that has one name, however its addresses are written", () => {
    const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff }));
    const half = fc.array(group, { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(half, half, half, (network, one, other) => {
        const block = addressBlock(inFull(network, one));
        expect(addressBlock(shortened(network, one))).toBe(block);
        expect(addressBlock(shortened(network, other))).toBe(block);
        if (String(network) !== String(other)) expect(addressBlock(shortened(other, one))).not.toBe(block);
      }),
    );
  });
});

const inFull = (...halves: readonly number[][]): string =>
  halves
    .flat()
    .map((group) => group.toString(16))
    .join(":");

/** As systems write it: the longest run of zeros is left out. */
const shortened = (...halves: readonly number[][]): string =>
  new URL(`http://[${inFull(...halves)}]`).hostname.slice(1, -1);
