import type { Quantities } from "../../../prices/quantities.ts";
import { TransitMap } from "../../../platform/transit-map.ts";
import type { CallEnd, HeldCall } from "../../held-call.ts";
import { createSums, type Sums } from "../../sums.ts";

/** A call of which something is not posted yet. */
export interface SheetCall {
  readonly held: HeldCall;
  /** Whether it was held on this sheet, so that the sums of the books know nothing of it. */
  readonly isNew: boolean;
  dispatchedAtMs: number | null;
  progress: Quantities | undefined;
}

/** Everything the journal says that is not posted yet: open calls one by one, and what the ended ones add up to. */
export interface Sheet {
  readonly open: Pick<TransitMap<SheetCall>, "get" | "has" | "entries" | "size">;
  readonly sums: Sums;
  /** How many calls on this sheet claimed an idempotency key, and when the last of them was held. */
  readonly claimed: { count: number; newestMs: number };
  readonly hold: (call: HeldCall) => void;
  readonly dispatch: (call: HeldCall, atMs: number) => void;
  readonly progress: (call: HeldCall, used: Quantities) => void;
  /** The call as it was until now; its end is in the sums. */
  readonly end: (call: HeldCall, end: CallEnd) => SheetCall;
  /** Whether a call on this sheet claimed the idempotency key. */
  readonly hasClaim: (accountId: string, keyHash: Uint8Array) => boolean;
  readonly isEmpty: () => boolean;
  readonly clear: () => void;
}

export function createSheet(): Sheet {
  const open = new TransitMap<SheetCall>();
  const sums = createSums();
  let names = new Set<string>();
  const claimed = { count: 0, newestMs: 0 };

  const callOn = (held: HeldCall): SheetCall => {
    const known = open.get(held.callId);
    if (known) return known;
    const posted = { held, isNew: false, dispatchedAtMs: null, progress: undefined };
    open.set(held.callId, posted);
    return posted;
  };

  return {
    open,
    sums,
    claimed,
    hold: (held) => {
      open.set(held.callId, { held, isNew: true, dispatchedAtMs: null, progress: undefined });
      if (!held.claim) return;
      names.add(claimName(held.accountId, held.claim.keyHash));
      claimed.count++;
      claimed.newestMs = Math.max(claimed.newestMs, held.createdAtMs);
    },
    dispatch: (held, atMs) => {
      callOn(held).dispatchedAtMs = atMs;
    },
    progress: (held, used) => {
      callOn(held).progress = used;
    },
    end: (held, end) => {
      const call = callOn(held);
      open.delete(held.callId);
      // What was held on this sheet was not added to what the books hold, so only what was there before goes back.
      if (!call.isNew) sums.addHeld(held, -held.heldMicros);
      sums.addEnd(held, end);
      return call;
    },
    hasClaim: (accountId, keyHash) => names.size > 0 && names.has(claimName(accountId, keyHash)),
    isEmpty: () => open.size === 0 && sums.accounts.size === 0,
    clear: () => {
      open.clear();
      sums.clear();
      names = new Set();
      claimed.count = 0;
      claimed.newestMs = 0;
    },
  };
}

const claimName = (accountId: string, keyHash: Uint8Array): string =>
  `${accountId} ${Buffer.from(keyHash.buffer, keyHash.byteOffset, keyHash.byteLength).toString("base64")}`;
