import type { Want } from "./limiter.ts";

/** What an operation adds to the limits of a key's tier. */
export interface OperationLimits {
  /** Requests per minute and key, counted for this group of operations alone. */
  readonly rpm?: { readonly group: string; readonly limit: number };
  /** Occupies one of the key's places for as long as it runs, always or only while it streams. */
  readonly slot?: "always" | "streaming";
}

/** The longest a call can run; a slot whose holder vanished comes back after it. */
const slotLeaseMs = 15 * 60_000;

/** Whoever has a key. A credential is remembered for a while, and the names of its limits with it. */
interface Caller {
  readonly keyId: string;
}

interface LimitNames {
  readonly requests: string;
  readonly tokens: string;
  readonly slots: string;
}

const known = new WeakMap<Caller, LimitNames>();

function namesOf(caller: Caller): LimitNames {
  let names = known.get(caller);
  if (!names) {
    const { keyId } = caller;
    names = { requests: `requests ${keyId}`, tokens: `tokens ${keyId}`, slots: `slots ${keyId}` };
    known.set(caller, names);
  }
  return names;
}

export const keyRequests = (caller: Caller, limit: number): Want => ({
  kind: "rate",
  name: namesOf(caller).requests,
  amount: 1,
  limit,
});

export const groupRequests = (
  { keyId }: Caller,
  { group, limit }: NonNullable<OperationLimits["rpm"]>,
): Want => ({
  kind: "rate",
  name: `requests ${keyId} ${group}`,
  amount: 1,
  limit,
});

/** An estimate above the limit itself is counted as the limit: such a call must be possible, alone in its minute. */
export const keyTokens = (caller: Caller, amount: number, limit: number): Want => ({
  kind: "rate",
  name: namesOf(caller).tokens,
  amount: Math.min(amount, limit),
  limit,
});

export const upstreamRequests = (upstream: string, limit: number): Want => ({
  kind: "rate",
  name: `upstream ${upstream}`,
  amount: 1,
  limit,
});

export const slotsName = (caller: Caller): string => namesOf(caller).slots;

export const keySlot = (caller: Caller, holder: string, limit: number): Want => ({
  kind: "slot",
  name: slotsName(caller),
  holder,
  limit,
  leaseMs: slotLeaseMs,
});
