import { dayBoundOf } from "../../grants/grants.ts";
import type { Credential } from "../../keys/keys.ts";
import type { Micros } from "../../platform/money.ts";
import type { Gate } from "../gate.ts";
import { isUnpayable, refuseUnpayable } from "./refuse-unpayable.ts";

/** Refuses calls that their caller could not pay together, before anybody is asked to allow them. Nothing is held. */
export async function checkPayable(caller: Credential, atMostMicros: Micros, gate: Gate): Promise<void> {
  const { accountId, keyId, budget, grant } = caller;
  const atMs = gate.clock.wallMs();
  const result = await gate.ledger.wouldHold({
    accountId,
    keyId,
    amountMicros: atMostMicros,
    createdAtMs: atMs,
    budget,
    grant: grant && dayBoundOf(grant),
    // They are not made yet. Whether a person has to allow them is looked at next, and each has its own key and task.
    coveredMicros: undefined,
    approval: undefined,
    idempotency: undefined,
    task: undefined,
  });
  if (isUnpayable(result)) refuseUnpayable(result, { atMostMicros, named: "The calls together", atMs });
}
