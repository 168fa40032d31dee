import type { ApprovalItem } from "../../approvals/approvals.ts";
import type { Offer } from "../../offer/offer.ts";
import { usdFromMicros, type Micros } from "../../platform/money.ts";
import { estimateOf } from "./pricing.ts";
import type { UseArguments } from "./tool-shapes.ts";

/** Enough of the arguments for a person to recognise what they allow. */
const summaryCharactersMax = 300;

/** One call as a person is asked about it. It may hold what it can cost now, which its cap allows. */
export function approvalItem(
  call: Pick<UseArguments, "operation_id" | "arguments">,
  digest: Uint8Array,
  atMostMicros: Micros,
  offer: Offer,
): ApprovalItem {
  const written = JSON.stringify(call.arguments);
  const offered = offer.operations.get(call.operation_id);
  const usual = offered ? estimateOf(offered) : atMostMicros;
  return {
    operationId: call.operation_id,
    digest,
    capMicros: atMostMicros,
    rate: `usually ${usdFromMicros(usual)} USD a call`,
    summary: written.length > summaryCharactersMax ? `${written.slice(0, summaryCharactersMax)}…` : written,
  };
}

/** Names these very arguments and this cap: an approval of them allows nothing else. */
export function callDigest(
  place: string,
  call: Pick<UseArguments, "operation_id" | "arguments">,
  capMicros: Micros,
): Uint8Array {
  const content = JSON.stringify([place, call.operation_id, sorted(call.arguments), String(capMicros)]);
  return new Bun.CryptoHasher("sha256").update(content).digest();
}

/** The order of members means nothing, so it must not decide whether an approval fits. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(members.map(([name, inner]) => [name, sorted(inner)]));
}
