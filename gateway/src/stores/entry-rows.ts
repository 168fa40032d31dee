import type { Entry } from "../ledger/entries.ts";
import type { Micros } from "../platform/money.ts";
import type { PaymentKind } from "./account-rows.ts";

/** An entry before anybody has counted what the account had then. */
export type EntryWithoutBalance = Omit<Entry, "balanceMicros">;

export interface PaymentRow {
  readonly transfer_id: string;
  readonly kind: PaymentKind;
  readonly amount_micros: bigint;
  readonly memo: string | null;
  readonly created_at_ms: bigint;
}

export interface ChargeRow {
  readonly id: string;
  readonly key_id: string;
  readonly operation_id: string;
  readonly model: string | null;
  readonly charged_micros: bigint;
  readonly settled_at_ms: bigint;
}

export const paymentOf = (row: PaymentRow): EntryWithoutBalance => ({
  id: row.transfer_id,
  kind: row.kind,
  bookedAtMs: Number(row.created_at_ms),
  amountMicros: row.amount_micros,
  reason: row.memo ?? undefined,
  call: undefined,
});

export const chargeOf = (call: ChargeRow): EntryWithoutBalance => ({
  id: call.id,
  kind: "charge",
  bookedAtMs: Number(call.settled_at_ms),
  amountMicros: -call.charged_micros,
  reason: undefined,
  call: { operationId: call.operation_id, model: call.model ?? undefined, keyId: call.key_id },
});

/** The newest first, which left the account with `newestMicros`. */
export function withBalances(newestFirst: readonly EntryWithoutBalance[], newestMicros: Micros): Entry[] {
  let balanceMicros = newestMicros;
  return newestFirst.map((booked) => {
    const entry = { ...booked, balanceMicros };
    balanceMicros -= booked.amountMicros;
    return entry;
  });
}
