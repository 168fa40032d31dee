import { createTerms, priceLines } from "../prices/terms.ts";
import { multiplierFromPpm, usdFromPico } from "../platform/money.ts";
import { isoTime } from "../platform/clock.ts";
import { keyRejected, type Attempt, type CallRecord, type CallState } from "./call-record.ts";
import { explainCall } from "./explain-call.ts";

export interface Receipt {
  readonly request_id: string;
  readonly operation_id: string;
  readonly key_id: string;
  readonly client: { readonly grant_id: string; readonly name: string } | null;
  readonly model: string | null;
  readonly created_at: string;
  readonly settled_at: string | null;
  readonly status: CallState;
  readonly outcome: string | null;
  readonly http_status: number | null;
  readonly attempts: readonly {
    readonly upstream: string;
    readonly outcome: string;
    readonly status: number | null;
    readonly started_at: string;
    readonly ended_at: string;
  }[];
  readonly usage: Readonly<Record<string, number>>;
  readonly usage_source: string;
  readonly prices: readonly {
    readonly unit: string;
    readonly quantity: number;
    readonly unit_price_usd: string;
  }[];
  readonly price_version: string;
  readonly plan_multiplier: string;
  readonly held_micros_usd: number;
  readonly usage_value_micros_usd: number;
  readonly charged_micros_usd: number;
  readonly explanation: string;
}

export interface ReceiptPage {
  readonly object: "list";
  readonly data: readonly Receipt[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/**
 * The receipt as the call's own caller is told it. What an upstream says of the operator's key or credit looks like a word
 * about theirs (401, 402), so its status stays with the operator, as its body does.
 */
export function receiptForCaller(call: CallRecord): Receipt {
  const { attempts, httpStatus } = call;
  const isWithheld = attempts.some((attempt) => isAboutOperator(attempt) && attempt.status === httpStatus);
  const isOthers = attempts.some((attempt) => !isAboutOperator(attempt) && attempt.status === httpStatus);
  return receiptOf({
    ...call,
    httpStatus: isWithheld && !isOthers ? undefined : httpStatus,
    attempts: attempts.map((attempt) => (isAboutOperator(attempt) ? { ...attempt, status: null } : attempt)),
  });
}

const isAboutOperator = ({ outcome }: Attempt): boolean => outcome === keyRejected;

/** The whole of it, for the operator. */
export function receiptOf(call: CallRecord): Receipt {
  const terms = createTerms(call.operationId, call.model, call.unitPricesPico);
  return {
    request_id: call.id,
    operation_id: call.operationId,
    key_id: call.keyId,
    client: call.client ? { grant_id: call.client.grantId, name: call.client.name } : null,
    model: call.model ?? null,
    created_at: isoTime(call.createdAtMs),
    settled_at: call.settledAtMs === undefined ? null : isoTime(call.settledAtMs),
    status: call.state,
    outcome: call.outcome ?? null,
    http_status: call.httpStatus ?? null,
    attempts: call.attempts.map((attempt) => ({
      upstream: attempt.upstream,
      outcome: attempt.outcome,
      status: attempt.status,
      started_at: isoTime(attempt.started_at_ms),
      ended_at: isoTime(attempt.ended_at_ms),
    })),
    usage: call.used,
    usage_source: call.usageSource,
    prices: priceLines(call.used, terms).map((line) => ({
      unit: line.unit,
      quantity: line.quantity,
      unit_price_usd: usdFromPico(line.unitPricePico),
    })),
    price_version: call.priceVersion,
    plan_multiplier: multiplierFromPpm(call.multiplierPpm),
    held_micros_usd: Number(call.heldMicros),
    usage_value_micros_usd: Number(call.valueMicros),
    charged_micros_usd: Number(call.chargedMicros),
    explanation: explainCall(call),
  };
}
