import { groupRequests, keyRequests, seenAt, tighter } from "../../limits/call-limits.ts";
import type { Take, Want } from "../../limits/limiter.ts";
import { limitsOfCaller } from "../../offer/limits-of-caller.ts";
import type { Credential } from "../../keys/keys.ts";
import type { Operation } from "../../operation/operation.ts";
import type { Call } from "../call.ts";
import type { Gate } from "../gate.ts";
import { refuseByLimit } from "../refusals/refuse-by-limit.ts";

/** A request at any door. One that lists tools is no call, but counts like one. */
type CountedRequest = Pick<Call, "known" | "offer">;

/** Counts the request against its key, whatever its answer will be; a refused one is not counted. */
export function countRequest(call: CountedRequest, caller: Credential, gate: Gate): void | Promise<void> {
  // A door that had to know more before it could make a call of it has counted the request itself.
  if (call.known.counted.length > 0) return;
  const { rpm } = limitsOfCaller(call.offer, caller);
  return count(call, keyRequests(caller.keyId, rpm), gate);
}

/** Some operations have a limit of their own beside the key's. */
export function countOperation(
  call: Call,
  operation: Operation,
  caller: Credential,
  gate: Gate,
): void | Promise<void> {
  if (operation.limits?.rpm) return count(call, groupRequests(caller.keyId, operation.limits.rpm), gate);
}

function count(call: CountedRequest, want: Want, gate: Gate): void | Promise<void> {
  const wants = [want];
  const take = gate.limiter.take(wants);
  return take instanceof Promise
    ? take.then((taken) => note(call, wants, taken, gate))
    : note(call, wants, take, gate);
}

function note(call: CountedRequest, wants: readonly Want[], take: Take, gate: Gate): void | Promise<never> {
  if (take.kind === "refused") return refuseByLimit(call, take, gate);
  const [standing] = take.standings;
  if (standing) call.known.requests = tighter(call.known.requests, seenAt(gate.clock.wallMs(), standing));
  call.known.counted.push({ wants, takenAt: take.takenAt });
}
