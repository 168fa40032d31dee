import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { createKeySecret, isWellFormedKey } from "./key-format.ts";

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const aKey = (): string => createKeySecret(randomBytes);

describe("the form of a key", () => {
  test("is tgk_, 30 random and 6 checking characters, all base62", () => {
    for (let n = 0; n < 1_000; n++) {
      const key = aKey();
      expect(key).toMatch(/^tgk_[0-9A-Za-z]{36}$/);
      expect(isWellFormedKey(key)).toBe(true);
    }
  });

  test("ends in the CRC-32 of the rest, in base62, most significant first", () => {
    const key = aKey();
    let value = 0;
    for (const digit of key.slice(-6)) value = value * 62 + base62.indexOf(digit);
    expect(value).toBe(crc32(key.slice(0, -6)));
  });

  test("is fixed for ever: a known key of today stays a key", () => {
    const key = createKeySecret((count) => new Uint8Array(count).map((_, at) => at));
    expect(key).toBe("tgk_0123456789ABCDEFGHIJKLMNOPQRST13GbNH");
  });

  test("draws every character equally often: bytes that would favour some are thrown away", () => {
    const asked: number[] = [];
    // 248 to 255 first: none of them may become a character.
    const key = createKeySecret((count) => {
      asked.push(count);
      return asked.length === 1 ? new Uint8Array(count).fill(255) : new Uint8Array(count).fill(61);
    });
    expect(key.slice(4, 34)).toBe("z".repeat(30));
    expect(asked.length).toBe(2);
  });

  test("does not repeat", () => {
    expect(new Set(Array.from({ length: 10_000 }, aKey)).size).toBe(10_000);
  });

  test("a changed character anywhere is noticed", () => {
    const key = aKey();
    for (let at = 0; at < key.length; at++) {
      for (const other of base62) {
        if (other === key[at]) continue;
        expect(isWellFormedKey(key.slice(0, at) + other + key.slice(at + 1))).toBe(false);
      }
    }
  });

  test("two neighbours exchanged are noticed", () => {
    const key = aKey();
    for (let at = 4; at < key.length - 1; at++) {
      const [one = "", two = ""] = [key[at], key[at + 1]];
      if (one !== two) expect(isWellFormedKey(key.slice(0, at) + two + one + key.slice(at + 2))).toBe(false);
    }
  });

  test("anything before, after or missing is noticed", () => {
    const key = aKey();
    const variants = [
      "",
      "tgk_",
      key.slice(0, -1),
      key.slice(1),
      `${key}0`,
      ` ${key}`,
      `${key} `,
      `${key}\n`,
      `Bearer ${key}`,
      key.toUpperCase(),
      key.replace("tgk_", "tgo_"),
      `${key}${key}`,
      `${key}\u0000`,
    ];
    for (const variant of variants) expect(isWellFormedKey(variant)).toBe(false);
  });

  test("no string is too strange to be refused", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => !isWellFormedKey(text)),
      { numRuns: 5_000 },
    );
  });
});
