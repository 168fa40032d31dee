import { createCipheriv, createDecipheriv } from "node:crypto";

/** Seals and opens the secrets of one row. */
export interface RowVault {
  readonly seal: (column: string, secret: string) => Uint8Array;
  /** Throws for whatever was not sealed for exactly this row and column. */
  readonly open: (column: string, sealed: Uint8Array) => string;
}

interface Parts {
  readonly rowKey: (salt: Uint8Array) => Uint8Array;
  readonly randomBytes: (count: number) => Uint8Array;
}

/** Where a secret belongs. All of it is sealed in, so a value that is moved elsewhere cannot be opened there. */
export interface Row {
  readonly table: string;
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly version: number;
  readonly salt: Uint8Array;
}

export const saltBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
/** The first byte of a sealed value says how it was sealed, so that another way can come beside this one. */
const way = 1;

/** AES-256-GCM under a key of the row's own, which nobody without the installation's secret can derive. */
export const createVault =
  ({ rowKey, randomBytes }: Parts) =>
  (row: Row): RowVault => {
    const key = rowKey(row.salt);
    return {
      seal: (column, secret) => {
        const nonce = randomBytes(nonceBytes);
        const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(placeOf(row, column));
        const sealed = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
        return Buffer.concat([Buffer.of(way), nonce, sealed, cipher.getAuthTag()]);
      },
      open: (column, sealed) => {
        const bytes = Buffer.from(sealed);
        if (bytes[0] !== way || bytes.length < 1 + nonceBytes + tagBytes) {
          throw new Error(`${row.table} ${row.id}: ${column} is not a sealed value.`);
        }
        const nonce = bytes.subarray(1, 1 + nonceBytes);
        const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: tagBytes })
          .setAAD(placeOf(row, column))
          .setAuthTag(bytes.subarray(-tagBytes));
        const opened = decipher.update(bytes.subarray(1 + nonceBytes, -tagBytes));
        return Buffer.concat([opened, decipher.final()]).toString("utf8");
      },
    };
  };

export type Vault = ReturnType<typeof createVault>;

/** A list as JSON: no two places can be spelled alike. */
const placeOf = ({ table, id, accountId, keyId, version }: Row, column: string): Uint8Array =>
  Buffer.from(JSON.stringify([table, id, accountId, keyId, version, column]));
