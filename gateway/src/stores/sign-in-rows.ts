import type { FoundRecord } from "../grants/sign-in-records.ts";

export interface RecordRow {
  sealed: Uint8Array;
  consumed_at_ms: bigint | null;
}

/** Records past their time are swept a few at a time by those who bring new ones, so the table stays bounded. */
export const recordsForgottenAtOnce = 8;

export const foundOf = (row: RecordRow): FoundRecord => ({
  sealed: row.sealed,
  consumedAtMs: row.consumed_at_ms === null ? undefined : Number(row.consumed_at_ms),
});
