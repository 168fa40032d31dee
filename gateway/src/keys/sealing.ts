import { createCipheriv, createDecipheriv } from "node:crypto";

/** Hides a text from whoever reads the store, and ties it to its place: moved elsewhere it does not open. */
export interface Sealing {
  readonly seal: (text: string, place: string) => Uint8Array;
  /** Undefined when it was sealed for another place, under another key, or altered. */
  readonly open: (sealed: Uint8Array, place: string) => string | undefined;
}

const nonceBytes = 12;
const tagBytes = 16;

export function createSealing(key: Uint8Array, randomBytes: (count: number) => Uint8Array): Sealing {
  return {
    seal: (text, place) => {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(place));
      const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return new Uint8Array(Buffer.concat([nonce, cipher.getAuthTag(), body]));
    },
    open: (sealed, place) => {
      if (sealed.length < nonceBytes + tagBytes) return undefined;
      const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, nonceBytes))
        .setAAD(Buffer.from(place))
        .setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
      try {
        const body = decipher.update(sealed.subarray(nonceBytes + tagBytes));
        return Buffer.concat([body, decipher.final()]).toString("utf8");
      } catch {
        return undefined;
      }
    },
  };
}
