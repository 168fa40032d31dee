import { timingSafeEqual } from "node:crypto";

/** Signs the authorization server's cookies, so that a forged one costs no look-up. */
export function createCookieSigner(key: Uint8Array) {
  const sign = (value: string): string =>
    new Bun.CryptoHasher("sha256", key).update(value).digest("base64url");
  const verify = (value: string, signature: string): boolean => {
    const expected = Buffer.from(sign(value));
    const given = Buffer.from(signature);
    return given.length === expected.length && timingSafeEqual(given, expected);
  };
  return { sign, verify, index: (value: string, signature: string) => (verify(value, signature) ? 0 : -1) };
}
