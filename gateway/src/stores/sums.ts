import { budgetWindowStartMs } from "../keys/budget-window.ts";
import type { Carry } from "../ledger/charge.ts";
import { tokenTotals } from "../prices/quantities.ts";
import type { Micros } from "../platform/money.ts";
import { noUsage } from "../usage/usage-report.ts";
import type { CallEnd, HeldCall } from "./held-call.ts";
import { bucketWidthsSeconds, type Bucket } from "./usage-buckets.ts";

/**
 * What the calls of a sheet add up to. A call is added as it ends, and nothing else of it is kept: thousands of calls that
 * wait in memory to be added up cost more than the adding.
 */
export interface Sums {
  readonly accounts: ReadonlyMap<string, AccountSums>;
  readonly keys: ReadonlyMap<string, KeySums>;
  readonly grantDays: ReadonlyMap<string, readonly BoundSums[]>;
  /** Moves what is held for the call, in either direction. */
  readonly addHeld: (call: HeldCall, heldMicros: Micros) => void;
  readonly addEnd: (call: HeldCall, end: CallEnd) => void;
  /** About how many rows of the books are written for it. */
  readonly countRows: () => number;
  readonly clear: () => void;
}

/** How far a sheet moves the figures of an account. */
export interface AccountSums {
  postedMicros: Micros;
  heldMicros: Micros;
  /** What the account carries after the last of its ended calls. */
  carry: Carry | undefined;
  readonly endedCallIds: string[];
}

/** How far it moves those of a budget or of a grant in one day. */
export interface BoundSums {
  readonly startMs: number;
  spentMicros: Micros;
  heldMicros: Micros;
}

interface KeySums {
  readonly windows: BoundSums[];
  /** Its usage, second by second. */
  readonly seconds: Bucket[];
}

export function createSums(): Sums {
  let accounts = new Map<string, AccountSums>();
  let keys = new Map<string, KeySums>();
  let grantDays = new Map<string, BoundSums[]>();

  const accountOf = ({ accountId }: HeldCall): AccountSums => {
    let sums = accounts.get(accountId);
    if (!sums)
      accounts.set(
        accountId,
        (sums = { postedMicros: 0n, heldMicros: 0n, carry: undefined, endedCallIds: [] }),
      );
    return sums;
  };

  const keyOf = ({ keyId }: HeldCall): KeySums => {
    let sums = keys.get(keyId);
    if (!sums) keys.set(keyId, (sums = { windows: [], seconds: [] }));
    return sums;
  };

  const windowOf = (call: HeldCall): BoundSums | undefined =>
    call.budgetDayMs === null ? undefined : boundIn(keyOf(call).windows, call.budgetDayMs);

  const grantDayOf = ({ grantId, createdAtMs }: HeldCall): BoundSums | undefined => {
    if (grantId === null) return undefined;
    let days = grantDays.get(grantId);
    if (!days) grantDays.set(grantId, (days = []));
    return boundIn(days, dayStartMs(createdAtMs));
  };

  return {
    get accounts() {
      return accounts;
    },
    get keys() {
      return keys;
    },
    get grantDays() {
      return grantDays;
    },
    addHeld: (call, heldMicros) => {
      accountOf(call).heldMicros += heldMicros;
      const window = windowOf(call);
      if (window) window.heldMicros += heldMicros;
      const day = grantDayOf(call);
      if (day) day.heldMicros += heldMicros;
    },
    addEnd: (call, end) => {
      const account = accountOf(call);
      account.postedMicros -= end.chargedMicros;
      account.carry = end.carry;
      account.endedCallIds.push(call.callId);
      const window = windowOf(call);
      if (window) window.spentMicros += end.chargedMicros;
      const day = grantDayOf(call);
      if (day) day.spentMicros += end.chargedMicros;
      addUsage(keyOf(call).seconds, call, end);
    },
    countRows: () => {
      let rows = accounts.size;
      // Seconds that are close to each other share their wider buckets.
      for (const { windows, seconds } of keys.values())
        rows += windows.length + seconds.length + bucketWidthsSeconds.length - 1;
      for (const days of grantDays.values()) rows += days.length;
      return rows;
    },
    clear: () => {
      // New ones: a map that is cleared and filled again keeps, in the eyes of the collector, whatever it held.
      accounts = new Map();
      keys = new Map();
      grantDays = new Map();
    },
  };
}

/** A call belongs to the day in which it was held, whenever it ends. */
export const dayStartMs = (createdAtMs: number): number => budgetWindowStartMs("day", createdAtMs);

function addUsage(
  seconds: Bucket[],
  { accountId, keyId }: HeldCall,
  { used, outcome, valueMicros, chargedMicros, settledAtMs }: CallEnd,
): void {
  const startSeconds = Math.floor(settledAtMs / 1000);
  const at = placeIn(seconds, startSeconds, startOfBucket);
  let bucket = seconds[at - 1];
  if (bucket?.startSeconds !== startSeconds) {
    bucket = { widthSeconds: 1, startSeconds, accountId, keyId, sums: { ...noUsage } };
    seconds.splice(at, 0, bucket);
  }
  const { sums } = bucket;
  const tokens = tokenTotals(used);
  sums.requests++;
  if (outcome !== "succeeded") sums.failedRequests++;
  sums.inputTokens += tokens.input;
  sums.outputTokens += tokens.output;
  sums.cacheReadTokens += tokens.cacheRead;
  sums.cacheWriteTokens += tokens.cacheWrite;
  sums.valueMicros += valueMicros;
  sums.chargedMicros += chargedMicros;
}

function boundIn(bounds: BoundSums[], startMs: number): BoundSums {
  const at = placeIn(bounds, startMs, startOfBound);
  const known = bounds[at - 1];
  if (known?.startMs === startMs) return known;
  const bound = { startMs, spentMicros: 0n, heldMicros: 0n };
  bounds.splice(at, 0, bound);
  return bound;
}

/** The place behind all that do not start later; searched from the end, because most additions are recent. */
function placeIn<Kept>(list: readonly Kept[], start: number, startOf: (kept: Kept) => number): number {
  let at = list.length;
  for (let last = list[at - 1]; last !== undefined && startOf(last) > start; last = list[at - 1]) at--;
  return at;
}

const startOfBucket = ({ startSeconds }: Bucket): number => startSeconds;
const startOfBound = ({ startMs }: BoundSums): number => startMs;
