// tgk_ + 30 random base62 characters + 6 that check them. The checksum lets a leak scanner, and our own
// front door, tell a real key from garbage without asking any store.

import { crc32 } from "node:zlib";

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const prefix = "tgk_";
const randomLength = 30;
const checksumLength = 6;
const keyShape = new RegExp(`^${prefix}[0-9A-Za-z]{${randomLength + checksumLength}}$`);

export function createKeySecret(randomBytes: (count: number) => Uint8Array): string {
  let body = prefix;
  while (body.length < prefix.length + randomLength) {
    for (const byte of randomBytes(randomLength)) {
      // 248 is the largest multiple of 62 in a byte; taking more would favour the first letters.
      if (byte < 248 && body.length < prefix.length + randomLength) body += alphabet[byte % 62];
    }
  }
  return body + checksum(body);
}

export const isWellFormedKey = (text: string): boolean =>
  keyShape.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength);

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = "";
  for (let place = 0; place < checksumLength; place++) {
    digits = (alphabet[rest % 62] ?? "") + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
