import type { RateWant, Standing, Want } from "./limiter.ts";

/** What an operation adds to the limits of a key's tier. */
export interface OperationLimits {
  /** Requests per minute and key, counted for this group of operations alone. */
  readonly rpm?: { readonly group: string; readonly limit: number };
  /** Occupies one of the key's places for as long as it runs, always or only while it streams. */
  readonly slot?: "always" | "streaming";
}

/**
 * Longer than any call runs: it may be tried at five upstreams, and its stream may go on for two hours. A slot whose holder has
 * vanished is free again after this time.
 */
const slotLeaseMs = 3 * 60 * 60_000;

export const keyRequests = (keyId: string, limit: number): Want => ({
  kind: "rate",
  of: "requests",
  name: namesOf(keyId).requests,
  amount: 1,
  limit,
});

export const groupRequests = (
  keyId: string,
  { group, limit }: NonNullable<OperationLimits["rpm"]>,
): Want => ({
  kind: "rate",
  of: "requests",
  name: `requests ${keyId} ${group}`,
  group,
  amount: 1,
  limit,
});

/** An estimate above the limit itself is counted as the limit: such a call must be possible, alone in its minute. */
export const keyTokens = (keyId: string, amount: number, limit: number): Want => ({
  kind: "rate",
  of: "tokens",
  name: namesOf(keyId).tokens,
  amount: Math.min(amount, limit),
  limit,
});

export const upstreamRequests = (upstream: string, limit: number): RateWant => ({
  kind: "rate",
  of: "upstream",
  name: `upstream ${upstream}`,
  amount: 1,
  limit,
});

export const keySlot = (keyId: string, holder: string, limit: number): Want => ({
  kind: "slot",
  name: `slots ${keyId}`,
  holder,
  limit,
  leaseMs: slotLeaseMs,
});

/** How a limit stood when it was seen. Its reset is a moment and not a wait: a slow call is answered much later. */
export interface SeenStanding {
  readonly limit: number;
  readonly remaining: number;
  readonly resetsAtMs: number;
}

export const seenAt = (nowMs: number, { limit, remaining, resetsInMs }: Standing): SeenStanding => ({
  limit,
  remaining,
  resetsAtMs: nowMs + resetsInMs,
});

/** The one of two limits that leaves less is the one that a caller is shown. */
export const tighter = (a: SeenStanding | undefined, b: SeenStanding): SeenStanding =>
  a && a.remaining <= b.remaining ? a : b;

/** What a key's limits are called. Every call asks for them, so they are kept: to look for a new text takes longer. */
interface KeyNames {
  readonly requests: string;
  readonly tokens: string;
}
const namesOfKeys = new Map<string, KeyNames>();
const namesOfKeysMax = 10_000;

function namesOf(keyId: string): KeyNames {
  const known = namesOfKeys.get(keyId);
  if (known) return known;
  const names = { requests: `requests ${keyId}`, tokens: `tokens ${keyId}` };
  if (namesOfKeys.size >= namesOfKeysMax) namesOfKeys.clear();
  namesOfKeys.set(keyId, names);
  return names;
}
