import { StoreFull } from "../../../ledger/store-errors.ts";
import { codeOf } from "../../../platform/error-code.ts";

/** Another process is writing; SQLITE_BUSY has several kinds. */
export const isBusy = (error: unknown): boolean => codeOf(error).startsWith("SQLITE_BUSY");

export const isFull = (error: unknown): boolean => codeOf(error) === "SQLITE_FULL";

/** After these nobody knows what is on the disk; whatever is written next would be written on sand. */
export function isBroken(error: unknown): boolean {
  const code = codeOf(error);
  return code.startsWith("SQLITE_IOERR") || code === "SQLITE_CORRUPT" || code === "SQLITE_NOTADB";
}

/** Turns a SQLite error into one of ledger/store-errors.ts, so nobody else has to know the database. */
export const toldAs = (error: unknown): unknown => (isFull(error) ? new StoreFull() : error);
