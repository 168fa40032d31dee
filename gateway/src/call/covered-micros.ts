import type { Credential } from "../keys/keys.ts";
import type { Micros } from "../platform/money.ts";
import type { Call } from "./call.ts";

/**
 * The most a call may hold without a person's approval; undefined when nothing limits it. How much a grant may spend in
 * all is kept by the ledger, in the transaction that holds the money.
 */
export const coveredMicros = ({ approval }: Call, caller: Credential): Micros | undefined =>
  coveredFor(caller, approval?.coveredMicros);

/** A grant's own figure stands in place of the door's: a person set it on the consent page. */
export const coveredFor = <OfDoor extends Micros | undefined>(
  { grant }: Credential,
  ofDoor: OfDoor,
): Micros | OfDoor => (grant ? grant.spendPolicy.perCallMicros : ofDoor);
