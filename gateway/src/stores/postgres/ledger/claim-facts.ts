import { keepsKey } from "../../../ledger/idempotency-key.ts";
import type { IdempotencyClaim } from "../../../ledger/ledger.ts";
import type { HoldFacts } from "../../../ledger/why-not-held.ts";
import type { HeldCall } from "../../held-call.ts";
import { earlierUnpaid } from "../../unpaid-claims.ts";
import { hexOf } from "../server/json-rows.ts";
import type { FactRows } from "./fact-rows.ts";
import type { CallFacts } from "./ledger-facts.ts";

/** Who has which idempotency key. */
export interface ClaimFacts extends Pick<HoldFacts, "findEarlier"> {
  readonly claim: (call: HeldCall, claim: IdempotencyClaim) => void;
  readonly unclaim: (call: HeldCall, keyHash: Uint8Array) => void;
}

export function claimFactsOf(
  rows: Pick<FactRows, "claimed" | "unpaid">,
  calls: ReadonlyMap<string, CallFacts>,
): ClaimFacts {
  const claimed = new Map<string, { callId: string; fingerprint: Uint8Array }>();
  for (const row of rows.claimed)
    claimed.set(claimName(row.account_id, row.key_hash), { callId: row.id, fingerprint: row.fingerprint });
  const unpaid = Map.groupBy(rows.unpaid, (row) => claimName(row.account_id, row.key_hash));

  return {
    findEarlier: (accountId, claim, nowMs) => {
      const name = claimName(accountId, claim.keyHash);
      const found = claimed.get(name);
      const call = found && calls.get(found.callId);
      if (!call || !keepsKey(call.settledAtMs, nowMs, claim))
        return earlierUnpaid(unpaid.get(name) ?? [], claim, nowMs);
      return {
        callId: call.held.callId,
        sameRequest: Buffer.compare(found.fingerprint, claim.fingerprint) === 0,
        state: call.state,
        outcome: call.outcome,
        chargedMicros: call.chargedMicros,
      };
    },
    claim: (call, { keyHash, fingerprint }) =>
      void claimed.set(claimName(call.accountId, keyHash), { callId: call.callId, fingerprint }),
    unclaim: (call, keyHash) => {
      const name = claimName(call.accountId, keyHash);
      if (claimed.get(name)?.callId === call.callId) claimed.delete(name);
    },
  };
}

const claimName = (accountId: string, keyHash: Uint8Array): string => `${accountId} ${hexOf(keyHash)}`;
