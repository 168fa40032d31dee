import { createCipheriv, createDecipheriv } from "node:crypto";

/** Hides a text from whoever reads the store, and ties it to its place: moved elsewhere it does not open. */
export interface Sealing {
  readonly seal: (text: string, place: string) => Uint8Array;
  /** Undefined when it was sealed for another place, under another key, or altered. */
  readonly open: (sealed: Uint8Array, place: string) => string | undefined;
}

const nonceBytes = 12;
const tagBytes = 16;
/** The first byte says how a text was sealed, so that another way can come beside this one. */
const way = 1;

/** AES-256-GCM: the way, the nonce, what was sealed, the tag. */
export function createSealing(key: Uint8Array, randomBytes: (count: number) => Uint8Array): Sealing {
  return {
    seal: (text, place) => {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(place));
      const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final()]);
      return Buffer.concat([Buffer.of(way), nonce, body, cipher.getAuthTag()]);
    },
    open: (sealed, place) => {
      if (sealed[0] !== way || sealed.length < 1 + nonceBytes + tagBytes) return undefined;
      const nonce = sealed.subarray(1, 1 + nonceBytes);
      const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: tagBytes })
        .setAAD(Buffer.from(place))
        .setAuthTag(sealed.subarray(-tagBytes));
      try {
        const body = decipher.update(sealed.subarray(1 + nonceBytes, -tagBytes));
        return Buffer.concat([body, decipher.final()]).toString("utf8");
      } catch {
        return undefined;
      }
    },
  };
}
