import { idempotencyKeptMs } from "../../ledger/idempotency-key.ts";
import type { EarlierCall, IdempotencyClaim } from "../../ledger/ledger.ts";
import type { Claims } from "./claims.ts";
import type { Journal } from "./journal.ts";
import type { LedgerStatements } from "./ledger-statements.ts";

type Find = (accountId: string, claim: IdempotencyClaim, nowMs: number) => EarlierCall | undefined;

/** Which call has an idempotency key, and what became of it. */
export interface EarlierCalls {
  readonly find: Find;
  /** For whoever has nothing left to post. */
  readonly findPosted: Find;
}

export function createEarlierCalls(sql: LedgerStatements, claims: Claims, journal: Journal): EarlierCalls {
  const find: Find = (accountId, claim, nowMs) => {
    if (!claims.mayHave(accountId, claim.keyHash) && !journal.hasClaim(accountId, claim.keyHash))
      return undefined;
    // A key that is taken says what became of its call, so the call's row must be up to date.
    journal.post();
    return findPosted(accountId, claim, nowMs);
  };

  const findPosted: Find = (accountId, claim, nowMs) => {
    const claimed = claims.find(accountId, claim.keyHash);
    const row = claimed && sql.earlier.get(claimed.callId);
    if (!row) return undefined;
    if (row.settled_at_ms !== null && Number(row.settled_at_ms) + idempotencyKeptMs <= nowMs)
      return undefined;
    return {
      callId: claimed.callId,
      sameRequest: Buffer.compare(claimed.fingerprint, claim.fingerprint) === 0,
      state: row.state,
      outcome: row.outcome ?? undefined,
      chargedMicros: row.charged_micros,
    };
  };

  return { find, findPosted };
}
