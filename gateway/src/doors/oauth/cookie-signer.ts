import { isSameSecret } from "../../keys/is-same-secret.ts";

/** Signs the authorization server's cookies, so that a forged one costs no look-up. */
export function createCookieSigner(key: Uint8Array) {
  const sign = (value: string): string =>
    new Bun.CryptoHasher("sha256", key).update(value).digest("base64url");
  const verify = (value: string, signature: string): boolean => isSameSecret(signature, sign(value));
  return { sign, verify, index: (value: string, signature: string) => (verify(value, signature) ? 0 : -1) };
}
