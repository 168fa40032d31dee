import {
  hashIdempotencyKey,
  idempotencyKeyPattern,
  idempotencyKeyRule,
} from "../../ledger/idempotency-key.ts";
import type { IdempotencyClaim } from "../../ledger/ledger.ts";
import type { CallInput } from "../../operation/call-input.ts";
import { isSold, takesIdempotencyKey, type Operation } from "../../operation/operation.ts";
import { capMicrosFromUsd, type Micros } from "../../platform/money.ts";
import { refuse } from "../../platform/refusals.ts";
import type { Call } from "../call.ts";

/** How the caller wants this call to be paid: only priced, capped, or at most once. */
export interface Wishes {
  readonly quote: boolean;
  readonly capMicros: Micros | undefined;
  readonly claim: IdempotencyClaim | undefined;
}

/** Reads the headers about paying. A word that is not understood is refused, never executed on a guess. */
export function readWishes(call: Call, operation: Operation, input: CallInput): Wishes {
  checkAsync(call, operation);
  return {
    quote: wantsQuote(call, operation),
    capMicros: readCap(call),
    claim: honoursKeys(call, operation) ? readClaim(call, input) : undefined,
  };
}

/** Whoever begins a task must know that the answer is not its result. Sent twice, the header says neither. */
function checkAsync(call: Call, operation: Operation): void {
  if (!isSold(operation) || !operation.task || call.asyncMode === "enable") return;
  // Clients of the vendor know this sentence and compare it; the contract names the header.
  refuse("invalid_parameters", "current user api does not support synchronous calls", {
    field: call.offer.headers.asyncMode,
  });
}

const honoursKeys = (call: Call, operation: Operation): boolean =>
  takesIdempotencyKey(operation) || call.keysHoldForAll === true;

function wantsQuote(call: Call, operation: Operation): boolean {
  if (call.costMode === undefined) return false;
  if (call.costMode !== "quote") {
    refuse("invalid_parameters", `${call.offer.headers.costMode}: expected "quote" or no such header`);
  }
  if (operation.price.kind === "free")
    refuse("cost_quote_unsupported", "This operation is free; it has no quote.");
  return true;
}

function readCap(call: Call): Micros | undefined {
  if (call.maxPriceUsd === undefined) return undefined;
  const capMicros = capMicrosFromUsd(call.maxPriceUsd);
  if (capMicros === undefined) {
    refuse("invalid_parameters", `${call.offer.headers.maxPriceUsd}: expected an amount in USD such as 0.01`);
  }
  return capMicros;
}

function readClaim(call: Call, input: CallInput): IdempotencyClaim | undefined {
  const key = call.idempotencyKey;
  if (key === undefined) return undefined;
  if (!idempotencyKeyPattern.test(key)) {
    refuse("invalid_parameters", `Idempotency-Key: expected ${idempotencyKeyRule}, once`);
  }
  const query = input.rawQuery.split("&").toSorted().join("&");
  return {
    keyHash: hashIdempotencyKey(key),
    keptMs: call.keyKeptMs,
    fingerprint: new Bun.CryptoHasher("sha256")
      .update(`${call.method} ${call.path}?${query}\n`)
      .update(call.bodyKnownAs?.() ?? input.rawBody)
      .digest(),
  };
}
