import type { Database } from "bun:sqlite";
import type { CallOutcome, CallState } from "../../ledger/call-record.ts";
import { keepsKey } from "../../ledger/idempotency-key.ts";
import type { HoldFacts } from "../../ledger/why-not-held.ts";
import type { Claims } from "./journal/claims.ts";
import type { Journal } from "./journal/journal.ts";
import type { UnpaidClaims } from "./journal/unpaid-claims.ts";

type Find = HoldFacts["findEarlier"];

/** Which request of an account has an idempotency key, paid for or not, and what became of it. */
export interface EarlierCalls {
  /** Only inside a transaction. */
  readonly find: Find;
  /** For whoever has nothing left to post. */
  readonly findPosted: Find;
}

interface Parts {
  readonly claims: Claims;
  readonly unpaidClaims: UnpaidClaims;
  readonly journal: Journal;
}

export function createEarlierCalls(db: Database, { claims, unpaidClaims, journal }: Parts): EarlierCalls {
  const sql = prepare(db);

  const find: Find = (accountId, claim, nowMs) => {
    const unpaid = unpaidClaims.find(accountId, claim, nowMs);
    if (unpaid) return unpaid;
    if (!claims.mayHave(accountId, claim.keyHash) && !journal.hasClaim(accountId, claim.keyHash))
      return undefined;
    // A key that is taken says what became of its call, so the call's row must be up to date.
    journal.post();
    return findPaid(accountId, claim, nowMs);
  };

  const findPaid: Find = (accountId, claim, nowMs) => {
    const claimed = claims.find(accountId, claim.keyHash);
    const row = claimed && sql.call.get(claimed.callId);
    if (!row) return undefined;
    const endedAtMs = row.settled_at_ms === null ? undefined : Number(row.settled_at_ms);
    if (!keepsKey(endedAtMs, nowMs, claim)) return undefined;
    return {
      callId: claimed.callId,
      sameRequest: Buffer.compare(claimed.fingerprint, claim.fingerprint) === 0,
      state: row.state,
      outcome: row.outcome ?? undefined,
      chargedMicros: row.charged_micros,
    };
  };

  return {
    find,
    findPosted: (accountId, claim, nowMs) =>
      unpaidClaims.findInRows(accountId, claim, nowMs) ?? findPaid(accountId, claim, nowMs),
  };
}

interface CallRow {
  state: CallState;
  outcome: CallOutcome | null;
  charged_micros: bigint;
  settled_at_ms: bigint | null;
}

const prepare = (db: Database) => ({
  call: db.query<CallRow, [string]>(
    "SELECT state, outcome, charged_micros, settled_at_ms FROM call WHERE id = ?1",
  ),
});
