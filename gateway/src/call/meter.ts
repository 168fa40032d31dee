import type { UsageSource } from "../ledger/call-record.ts";
import type { CallInput, SoldOperation } from "../operation/operation.ts";
import type { Quantities } from "../operation/quantities.ts";
import type { Attempted } from "./forward.ts";
import type { Gate } from "./gate.ts";
import type { PricedCall } from "./price-call.ts";

/** What the evidence says was delivered. */
export interface Metered {
  /** Undefined when nobody can tell whether the upstream did the work. */
  readonly succeeded: boolean | undefined;
  readonly used: Quantities;
  readonly source: UsageSource;
}

const nothing = { used: {}, source: "none" } as const;

/** Reads the answer for what must be paid. No evidence, no charge. */
export function meter(
  operation: SoldOperation,
  priced: PricedCall,
  input: CallInput,
  { exchanged, upstream }: Attempted,
  gate: Gate,
): Metered {
  if (exchanged.kind === "no_answer") {
    const inDoubt = exchanged.sent && (exchanged.reason === "timeout" || exchanged.reason === "cut_off");
    return { ...nothing, succeeded: inDoubt ? undefined : false };
  }
  if (exchanged.kind !== "answered" || exchanged.status < 200 || exchanged.status > 299) {
    return { ...nothing, succeeded: false };
  }
  if (operation.price.kind === "per_unit") {
    const delivered = operation.price.delivered(exchanged.answer, input);
    if (delivered === undefined) return { ...nothing, succeeded: false };
    return { succeeded: true, used: { [operation.price.unit]: delivered }, source: "provider" };
  }

  const { tokens } = exchanged;
  for (const anomaly of tokens?.anomalies ?? []) {
    gate.metrics.count("tollgate_usage_anomalies_total", { upstream: upstream.name });
    gate.log.warn("odd usage reported", { upstream: upstream.name, operation_id: operation.id, anomaly });
  }
  if (tokens?.used) return { succeeded: true, used: tokens.used, source: "provider" };
  // Without a report, only delivered output is worth money; its input is what we expected to send.
  if (!tokens?.estimate) return { ...nothing, succeeded: false };
  const used = { input_tokens: priced.estimate.expected["input_tokens"] ?? 0, ...tokens.estimate };
  return { succeeded: true, used, source: "estimated" };
}
