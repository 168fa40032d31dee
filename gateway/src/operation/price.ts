import type { PriceContract, UpstreamAnswer } from "./price-contract.ts";

/** Free, written down. */
export const free: Extract<PriceContract, { kind: "free" }> = { kind: "free" };

/** The unit in which a `by_cost` operation is metered, so that a receipt's usage × prices is what was charged. */
export const costUnit = "micro_usd";

/** The same price for each call that succeeds; `succeeded` says what proves it beyond a 2xx status. */
export function fixed(
  usd: string,
  succeeded: (answer: UpstreamAnswer) => boolean = () => true,
): Extract<PriceContract<unknown>, { kind: "per_unit" }> {
  return {
    kind: "per_unit",
    unit: "call",
    usd,
    requested: () => 1,
    delivered: (answer) => (succeeded(answer) ? 1 : undefined),
  };
}
