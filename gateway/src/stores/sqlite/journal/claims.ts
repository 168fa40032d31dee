import type { Database } from "bun:sqlite";
import type { IdempotencyClaim } from "../../../ledger/ledger.ts";
import { MarkIndex } from "./mark-index.ts";
import type { HeldCall } from "../../held-call.ts";

/**
 * Which call has which idempotency key. Keys come in no order, so a table in their order would have each of them dirty a
 * page of its own, and cost half a call more. They are kept in the order they come instead, many on a page, and found by
 * marks in memory, twelve bytes each and as much again for the room to find them in. Where there are more keys than may be
 * in memory, the others go to a table in the order of keys. That is also where earlier programs left theirs, and where
 * programs write that do not serve calls: a server of an earlier version may be running beside them.
 *
 * Memory only says where a key may stand; what is true is read from the row. So memory may name rows that others have
 * removed, and must not miss one that is there.
 */
export interface Claims {
  /** Inside a transaction: the key is the call's. */
  readonly take: (call: Claimant, claim: IdempotencyClaim) => void;
  /** Inside a transaction: the key is free again, if the call has it. */
  readonly free: (call: Claimant, keyHash: Uint8Array) => void;
  /** False when nobody has the key; nearly always false then. Only inside a transaction, which knows what others wrote. */
  readonly mayHave: (accountId: string, keyHash: Uint8Array) => boolean;
  /** The call that took the key last, however long ago it ended. */
  readonly find: (accountId: string, keyHash: Uint8Array) => ClaimedKey | undefined;
  /** Inside a transaction: forgets keys of calls that ended before, the oldest first, and about as many as asked for. */
  readonly forget: (endedBeforeMs: number, most: number) => void;
  /** Reads what memory has to know, so that the first who brings a key need not wait for it. */
  readonly load: () => void;
  /** At the beginning of a transaction: others may have written since the last one. */
  readonly catchUp: () => void;
  readonly onCommit: () => void;
  readonly onRollback: () => void;
}

type Claimant = Pick<HeldCall, "callId" | "accountId" | "createdAtMs">;

interface ClaimedKey {
  readonly callId: string;
  readonly fingerprint: Uint8Array;
}

/** 25 MB of memory. An installation with more calls a day than this pays for the others' keys in time. */
const inMemoryUsualMax = 1_000_000;
/** Those who could be forgotten stand together at the beginning, unless calls are open for longer than a key is kept. */
const lookedAt = { first: 64, most: 4_096 };

interface Place {
  /** As memory knows it. */
  readonly mark: number;
  readonly number: number;
}

export function createClaims(db: Database, salt: number, inMemoryMax = inMemoryUsualMax): Claims {
  const sql = prepare(db);
  /** Read when it is first needed: of all programs that open the file, only a server looks for keys. */
  let index: MarkIndex | undefined;
  let newestRead = 0;
  let newestCommitted = 0;
  /** What this transaction took and removed; memory has the ones, and has the others until they are gone for good. */
  const taken: Place[] = [];
  const removed: Place[] = [];
  let isAnyElsewhere = true;

  const upToDate = (): MarkIndex => {
    index ??= new MarkIndex(salt);
    for (const row of sql.after.iterate(newestRead)) note(index, placeOf(row, salt));
    if (taken.length === 0) newestCommitted = newestRead;
    return index;
  };

  const note = (to: MarkIndex, { mark, number }: Place): void => {
    to.add(mark, number);
    if (number > newestRead) newestRead = number;
  };

  const markInMemory = (accountId: string, keyHash: Uint8Array): number =>
    saltedMark(markOf(accountId, keyHash), keyHash, salt);

  const takeElsewhere = (call: Claimant, { keyHash, fingerprint }: IdempotencyClaim): void => {
    sql.takeElsewhere.run(call.accountId, keyHash, fingerprint, call.callId, call.createdAtMs);
    isAnyElsewhere = true;
  };

  const forgetInOrder = (endedBeforeMs: number, most: number): void => {
    let together = lookedAt.first;
    for (let left = most; left > 0;) {
      const forgotten = sql.forget.all(endedBeforeMs, together);
      // Calls that are open for longer than a key is kept must not keep those after them.
      const goesOn =
        forgotten.length > 0 || (together < lookedAt.most && sql.oldestIsOpen.get(endedBeforeMs));
      if (!goesOn) return;
      removed.push(...forgotten.map((row) => placeOf(row, salt)));
      left -= forgotten.length;
      together = Math.min(together * 2, lookedAt.most);
    }
  };

  const forgetChanges = (): void => {
    taken.length = 0;
    removed.length = 0;
  };

  return {
    take: (call, claim) => {
      if (!index || index.size >= inMemoryMax) return takeElsewhere(call, claim);
      const mark = markOf(call.accountId, claim.keyHash);
      const { lastInsertRowid } = sql.take.run(mark, claim.keyHash, claim.fingerprint, call.callId);
      const place = { mark: saltedMark(mark, claim.keyHash, salt), number: Number(lastInsertRowid) };
      note(index, place);
      taken.push(place);
    },
    free: ({ callId, accountId }, keyHash) => {
      const mark = markInMemory(accountId, keyHash);
      for (const number of upToDate().numbersOf(mark)) {
        if (sql.free.run(number, callId).changes > 0) removed.push({ mark, number });
      }
      if (isAnyElsewhere) sql.freeElsewhere.run(accountId, keyHash, callId);
    },
    mayHave: (accountId, keyHash) =>
      (index ?? upToDate()).has(markInMemory(accountId, keyHash)) ||
      (isAnyElsewhere && sql.findElsewhere.get(accountId, keyHash) !== null),
    find: (accountId, keyHash) => {
      // Who only reads comes without a transaction, and has not heard of what others wrote.
      let newest = sql.findElsewhere.get(accountId, keyHash) ?? undefined;
      for (const number of upToDate().numbersOf(markInMemory(accountId, keyHash))) {
        const row = sql.find.get(number);
        if (!row || row.account_id !== accountId || Buffer.compare(row.key_hash, keyHash) !== 0) continue;
        if (!newest || isLater(row, newest)) newest = row;
      }
      return newest && { callId: newest.call_id, fingerprint: newest.fingerprint };
    },
    forget: (endedBeforeMs, most) => {
      if (index) forgetInOrder(endedBeforeMs, most);
      if (!isAnyElsewhere) return;
      sql.forgetElsewhere.run(endedBeforeMs, Number.isFinite(most) ? most : -1);
      isAnyElsewhere = sql.anyElsewhere.get() !== null;
    },
    load: () => void upToDate(),
    catchUp: () => {
      if (index) upToDate();
      isAnyElsewhere = true;
    },
    onCommit: () => {
      for (const { mark, number } of removed) index?.remove(mark, number);
      forgetChanges();
      newestCommitted = newestRead;
    },
    onRollback: () => {
      for (const { mark, number } of taken) index?.remove(mark, number);
      forgetChanges();
      // Its numbers are given again, perhaps by others.
      newestRead = newestCommitted;
      isAnyElsewhere = true;
      // What was read in this transaction alone is read anew.
      if (index && newestCommitted === 0) index = new MarkIndex(salt);
    },
  };
}

const placeOf = ({ mark, key_hash, number }: PlaceRow, salt: number): Place => ({
  mark: saltedMark(Number(mark), key_hash, salt),
  number: Number(number),
});

/**
 * Callers choose their keys, and could look for thousands that have one mark: each would be looked for among all of them. So
 * memory goes by a mark that also depends on what no caller knows, and on all of the key.
 */
const saltedMark = (mark: number, keyHash: Uint8Array, salt: number): number =>
  Bun.hash.xxHash32(keyHash, (mark ^ salt) >>> 0);

/** One whose time is over may still be there when its key is taken again; that one is open, or ended later. */
const isLater = (one: ClaimRow, other: ClaimRow): boolean =>
  one.settled_at_ms === null || (other.settled_at_ms !== null && one.settled_at_ms >= other.settled_at_ms);

/** Stands in the rows, so it must stay what it is. Keys are hashed already; the account's name makes them its own. */
export const markOf = (accountId: string, keyHash: Uint8Array): number =>
  Bun.hash.xxHash32(
    accountId,
    ((keyHash[0] ?? 0) | ((keyHash[1] ?? 0) << 8) | ((keyHash[2] ?? 0) << 16) | ((keyHash[3] ?? 0) << 24)) >>>
      0,
  );

interface PlaceRow {
  number: bigint;
  mark: bigint;
  key_hash: Uint8Array;
}

interface ClaimRow {
  account_id: string;
  key_hash: Uint8Array;
  fingerprint: Uint8Array;
  call_id: string;
  settled_at_ms: bigint | null;
}

function prepare(db: Database) {
  return {
    take: db.query<never, [number, Uint8Array, Uint8Array, string]>(
      "INSERT INTO claim (mark, key_hash, fingerprint, call_id) VALUES (?1, ?2, ?3, ?4)",
    ),
    after: db.query<PlaceRow, [number]>(
      "SELECT number, mark, key_hash FROM claim WHERE number > ?1 ORDER BY number",
    ),
    find: db.query<ClaimRow, [number]>(
      `SELECT account_id, key_hash, fingerprint, call_id, settled_at_ms FROM claim JOIN call ON call.id = call_id
       WHERE number = ?1`,
    ),
    free: db.query<never, [number, string]>("DELETE FROM claim WHERE number = ?1 AND call_id = ?2"),
    forget: db.query<PlaceRow, [number, number]>(
      `DELETE FROM claim WHERE number IN (
         SELECT number FROM (SELECT number, call_id FROM claim ORDER BY number LIMIT ?2)
                            CROSS JOIN call ON call.id = call_id
         WHERE settled_at_ms < ?1)
       RETURNING number, mark, key_hash`,
    ),
    oldestIsOpen: db.query<{ id: string }, [number]>(
      `SELECT id FROM call WHERE id = (SELECT call_id FROM claim ORDER BY number LIMIT 1)
         AND settled_at_ms IS NULL AND created_at_ms < ?1`,
    ),
    takeElsewhere: db.query<never, [string, Uint8Array, Uint8Array, string, number]>(
      "INSERT OR REPLACE INTO idempotency VALUES (?1, ?2, ?3, ?4, ?5)",
    ),
    findElsewhere: db.query<ClaimRow, [string, Uint8Array]>(
      `SELECT idempotency.account_id, key_hash, fingerprint, call_id, settled_at_ms
       FROM idempotency JOIN call ON call.id = call_id WHERE idempotency.account_id = ?1 AND key_hash = ?2`,
    ),
    freeElsewhere: db.query<never, [string, Uint8Array, string]>(
      "DELETE FROM idempotency WHERE account_id = ?1 AND key_hash = ?2 AND call_id = ?3",
    ),
    forgetElsewhere: db.query<never, [number, number]>(
      `DELETE FROM idempotency WHERE (account_id, key_hash) IN (
         SELECT idempotency.account_id, key_hash FROM idempotency JOIN call ON call.id = call_id
         WHERE idempotency.created_at_ms < ?1 AND settled_at_ms < ?1 LIMIT ?2)`,
    ),
    anyElsewhere: db.query<{ call_id: string }, []>("SELECT call_id FROM idempotency LIMIT 1"),
  };
}
