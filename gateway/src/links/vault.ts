import { createSealing } from "../keys/sealing.ts";

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

/** Each row is sealed under a key of its own, which nobody without the installation's secret can derive. */
export const createVault =
  ({ rowKey, randomBytes }: Parts) =>
  (row: Row): RowVault => {
    const sealing = createSealing(rowKey(row.salt), randomBytes);
    return {
      seal: (column, secret) => sealing.seal(secret, placeOf(row, column)),
      open: (column, sealed) => {
        const secret = sealing.open(sealed, placeOf(row, column));
        if (secret === undefined) throw new Error(`${row.table} ${row.id}: ${column} was not sealed here.`);
        return secret;
      },
    };
  };

export type Vault = ReturnType<typeof createVault>;

/** A list as JSON: no two places can be spelled alike. */
const placeOf = ({ table, id, accountId, keyId, version }: Row, column: string): string =>
  JSON.stringify([table, id, accountId, keyId, version, column]);
