import { createECDH } from "node:crypto";
import type { JWK } from "oidc-provider";

/** Nobody has to keep a key of its own for the few clients that ask for an ID token: it follows from the secret. */
export function signingKey(seed: Uint8Array): JWK {
  const pair = createECDH("prime256v1");
  pair.setPrivateKey(Buffer.from(seed));
  const point = pair.getPublicKey();
  return {
    kty: "EC",
    crv: "P-256",
    use: "sig",
    alg: "ES256",
    d: Buffer.from(seed).toString("base64url"),
    x: point.subarray(1, 33).toString("base64url"),
    y: point.subarray(33, 65).toString("base64url"),
  };
}
