import { hkdfSync } from "node:crypto";

/** What is derived from the one secret of an installation, each for its own purpose. */
export interface Secrets {
  /** The keyed hash under which a key is stored; without the installation's secret it cannot be recomputed. */
  readonly hashKey: (presented: string) => Uint8Array;
  /** The key that seals one row's secrets; the salt is stored with the row and is no secret. */
  readonly rowKey: (salt: Uint8Array) => Uint8Array;
  /** A key for one purpose, told by its name; no other purpose learns anything of it. */
  readonly keyFor: (purpose: string) => Uint8Array;
  /** Proves that a data folder and a secret belong together, without telling the secret. */
  readonly fingerprint: string;
}

export function createSecrets(secret: string): Secrets {
  const pepper = derive(secret, "tollgate key pepper");
  const rowSecret = derive(secret, "tollgate row secret");
  const fingerprint = Buffer.from(derive(secret, "tollgate secret fingerprint")).toString("hex").slice(0, 32);
  return {
    hashKey: (presented) => new Bun.CryptoHasher("sha256", pepper).update(presented).digest(),
    rowKey: (salt) => new Uint8Array(hkdfSync("sha256", rowSecret, salt, "tollgate sealed row", 32)),
    keyFor: (purpose) => derive(secret, `tollgate ${purpose}`),
    fingerprint,
  };
}

const derive = (secret: string, purpose: string): Uint8Array =>
  new Uint8Array(hkdfSync("sha256", secret, "tollgate", purpose, 32));
