// A key is tgk_ + 30 random base62 characters + 6 that check them. The checksum lets a leak scanner, and our own
// front door, tell a real key from garbage without asking any store.

import { crc32 } from "node:zlib";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** tgk_ is a key; the others are made at sign-in: access tokens, refresh tokens, authorization codes. */
type Prefix = "tgk_" | "tgo_" | "tgr_" | "tgc_";
const prefixLength = 4;
const randomLength = 30;
const checksumLength = 6;
const shape = new RegExp(`^[0-9A-Za-z]{${randomLength + checksumLength}}$`);

export const createKeySecret = (randomBytes: (count: number) => Uint8Array): string =>
  createSecret("tgk_", randomBytes);

export function createSecret(prefix: Prefix, randomBytes: (count: number) => Uint8Array): string {
  let body: string = prefix;
  while (body.length < prefixLength + randomLength) {
    for (const byte of randomBytes(randomLength)) {
      // 248 is the largest multiple of 62 in a byte; taking more would favour the first letters.
      if (byte < 248 && body.length < prefixLength + randomLength) body += alphabet[byte % 62];
    }
  }
  return body + checksum(body);
}

export const isWellFormedKey = (text: string): boolean => isWellFormed("tgk_", text);
export const isWellFormedToken = (text: string): boolean => isWellFormed("tgo_", text);

const isWellFormed = (prefix: Prefix, text: string): boolean =>
  text.startsWith(prefix) &&
  shape.test(text.slice(prefixLength)) &&
  checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength);

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = "";
  for (let place = 0; place < checksumLength; place++) {
    digits = (alphabet[rest % 62] ?? "") + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
