import type { Database } from "bun:sqlite";
import type { HoldFacts } from "../../../ledger/why-not-held.ts";
import { earlierUnpaid, type UnpaidClaimRow } from "../../unpaid-claims.ts";
import { markOf } from "./claims.ts";
import { MarkIndex } from "./mark-index.ts";

type Find = HoldFacts["findEarlier"];

/**
 * Which link that was begun, or which application, has which idempotency key. The keys stand in the rows of those; memory
 * has a mark of each, so that a call with a key of its own, as nearly all are, need not look for them. As with the keys of
 * calls, memory may name rows that are gone, and must not miss one that is there.
 */
export interface UnpaidClaims {
  /** Only inside a transaction, which knows what others wrote. */
  readonly find: Find;
  /** For whoever only reads, and has not heard of what others wrote. */
  readonly findInRows: Find;
  /** Inside a transaction: a row with this key has been written. */
  readonly note: (accountId: string, keyHash: Uint8Array) => void;
  /** Reads what memory has to know, so that the first who brings a key need not wait for it. */
  readonly load: () => void;
  /** Others may have written, or the transaction was rolled back in which memory was read. */
  readonly forget: () => void;
}

/** Marks of rows that are gone stay until there are twice as many as were read, or so many more; then all are read anew. */
const addedMin = 1_000;
/** Which row has a mark is found by the key itself. */
const anyRow = 1;

export function createUnpaidClaims(db: Database, salt: number): UnpaidClaims {
  const sql = prepare(db);
  /** Read when it is first needed: of all programs that open the file, only a server looks for keys. */
  let index: MarkIndex | undefined;
  let sizeMax = 0;

  const read = (): MarkIndex => {
    const marks = new MarkIndex(salt);
    for (const { account_id, key_hash } of sql.all.iterate()) add(marks, account_id, key_hash);
    sizeMax = Math.max(marks.size * 2, marks.size + addedMin);
    return (index = marks);
  };

  const add = (marks: MarkIndex, accountId: string, keyHash: Uint8Array): void => {
    const mark = markOf(accountId, keyHash);
    if (!marks.has(mark)) marks.add(mark, anyRow);
  };

  const findInRows: Find = (accountId, claim, nowMs) =>
    earlierUnpaid(sql.find.all(accountId, claim.keyHash), claim, nowMs);

  return {
    find: (accountId, claim, nowMs) => {
      const marks = index ?? read();
      return marks.size > 0 && marks.has(markOf(accountId, claim.keyHash))
        ? findInRows(accountId, claim, nowMs)
        : undefined;
    },
    findInRows,
    note: (accountId, keyHash) => {
      if (index) add(index, accountId, keyHash);
      if (index && index.size > sizeMax) index = undefined;
    },
    load: () => void read(),
    forget: () => {
      index = undefined;
    },
  };
}

function prepare(db: Database) {
  return {
    all: db.query<{ account_id: string; key_hash: Uint8Array }, []>(
      `SELECT account_id, key_hash FROM link_attempt WHERE key_hash IS NOT NULL UNION ALL
       SELECT account_id, key_hash FROM quota_application WHERE key_hash IS NOT NULL`,
    ),
    find: db.query<UnpaidClaimRow, [string, Uint8Array]>(
      `SELECT id, fingerprint, expires_at_ms AS ended_at_ms FROM link_attempt
       WHERE account_id = ?1 AND key_hash = ?2 UNION ALL
       SELECT id, fingerprint, created_at_ms FROM quota_application WHERE account_id = ?1 AND key_hash = ?2`,
    ),
  };
}
