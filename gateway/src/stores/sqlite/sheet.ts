import type { CallOutcome, UsageSource } from "../../ledger/call-record.ts";
import type { Carry } from "../../ledger/charge.ts";
import type { IdempotencyClaim } from "../../ledger/ledger.ts";
import type { Quantities } from "../../operation/quantities.ts";
import type { Micros } from "../../platform/money.ts";

/** What is known of a call from the moment it is held; none of it ever changes. */
export interface HeldCall {
  readonly callId: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly operationId: string;
  readonly model: string | null;
  readonly heldMicros: Micros;
  readonly priceVersion: string;
  readonly multiplierPpm: bigint;
  readonly windowStartMs: number | null;
  readonly grantId: string | null;
  readonly runId: bigint;
  readonly createdAtMs: number;
  readonly claim: IdempotencyClaim | undefined;
}

/** How it ended. */
export interface CallEnd {
  readonly state: "settled" | "released";
  readonly outcome: CallOutcome;
  readonly valueMicros: Micros;
  readonly chargedMicros: Micros;
  readonly writtenOffMicros: Micros;
  /** What the account carries on after this call. */
  readonly carry: Carry;
  readonly used: Quantities;
  readonly usageSource: UsageSource;
  readonly httpStatus: number | null;
  readonly attempts: readonly object[];
  readonly sentAtMs: number | null;
  readonly settledAtMs: number;
  /** The idempotency key is free again. */
  readonly freedKeyHash: Uint8Array | undefined;
}

/** A call of which something is not posted yet. */
export interface SheetCall {
  readonly held: HeldCall;
  /** Whether it was held on this sheet, so that the sums of the books know nothing of it. */
  readonly isNew: boolean;
  sentAtMs: number | null;
  progress: Quantities | undefined;
  end: CallEnd | undefined;
}

/** Everything the journal says that is not posted yet, call by call. */
export interface Sheet {
  readonly calls: ReadonlyMap<string, SheetCall>;
  /** What each account carries after the last of its ended calls. */
  readonly carries: ReadonlyMap<string, Carry>;
  readonly hold: (call: HeldCall) => void;
  readonly send: (call: HeldCall, atMs: number) => void;
  readonly progress: (call: HeldCall, used: Quantities) => void;
  readonly end: (call: HeldCall, end: CallEnd) => SheetCall;
  /** Whether a call on this sheet claimed the idempotency key. */
  readonly hasClaim: (accountId: string, keyHash: Uint8Array) => boolean;
  readonly clear: () => void;
}

export function createSheet(): Sheet {
  const calls = new Map<string, SheetCall>();
  const carries = new Map<string, Carry>();
  const claims = new Set<string>();

  const callOn = (held: HeldCall): SheetCall => {
    const known = calls.get(held.callId);
    if (known) return known;
    const posted = { held, isNew: false, sentAtMs: null, progress: undefined, end: undefined };
    calls.set(held.callId, posted);
    return posted;
  };

  return {
    calls,
    carries,
    hold: (held) => {
      calls.set(held.callId, { held, isNew: true, sentAtMs: null, progress: undefined, end: undefined });
      if (held.claim) claims.add(claimName(held.accountId, held.claim.keyHash));
    },
    send: (held, atMs) => {
      callOn(held).sentAtMs = atMs;
    },
    progress: (held, used) => {
      callOn(held).progress = used;
    },
    end: (held, end) => {
      const call = callOn(held);
      call.end = end;
      carries.set(held.accountId, end.carry);
      return call;
    },
    hasClaim: (accountId, keyHash) => claims.size > 0 && claims.has(claimName(accountId, keyHash)),
    clear: () => {
      calls.clear();
      carries.clear();
      claims.clear();
    },
  };
}

const claimName = (accountId: string, keyHash: Uint8Array): string =>
  `${accountId} ${Buffer.from(keyHash.buffer, keyHash.byteOffset, keyHash.byteLength).toString("base64")}`;
