import { createTerms, priceLines } from "../prices/terms.ts";
import { multiplierFromPpm, usdFromPico } from "../platform/money.ts";
import { isoTime } from "../platform/clock.ts";
import {
  callerLeft,
  callerStalled,
  keyRejected,
  type Attempt,
  type CallOutcome,
  type CallRecord,
  type CallState,
} from "./call-record.ts";

export interface ReceiptFilter {
  readonly limit: number;
  /** List what is older than this call. */
  readonly before: string | undefined;
  /** List nothing that is older than this place in the order of ids. */
  readonly from?: string | undefined;
  readonly operationId: string | undefined;
  readonly status: CallState | undefined;
  readonly keyId: string | undefined;
  readonly model?: string | undefined;
  readonly outcome?: CallOutcome | undefined;
}

export interface CallPage {
  readonly calls: readonly CallRecord[];
  /** Where to go on; undefined when nothing older is left. A filter that few calls fit may have ended the look early. */
  readonly nextBefore: string | undefined;
}

/** Calls of one account, newest first. Another account's call does not exist. */
export interface CallBook {
  readonly find: (accountId: string, callId: string) => Promise<CallRecord | undefined>;
  /** Whoever's it is: for the operator alone. */
  readonly findAny: (callId: string) => Promise<CallRecord | undefined>;
  readonly list: (accountId: string, filter: ReceiptFilter) => Promise<CallPage>;
  /** The call that has this idempotency key at that moment; none when the key is free, or something else's. */
  readonly findByKey: (
    accountId: string,
    keyHash: Uint8Array,
    nowMs: number,
  ) => Promise<CallRecord | undefined>;
}

export interface Receipt {
  readonly request_id: string;
  readonly operation_id: string;
  readonly key_id: string;
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
    explanation: explain(call),
  };
}

/** Why held, value and charge differ, in a sentence or more. */
function explain(call: CallRecord): string {
  switch (call.state) {
    case "held":
    case "dispatched":
      return `${call.heldMicros} micro-USD are held until the call ends; nothing is charged yet.`;
    case "unknown":
      return `It is not known how the call ended; ${call.heldMicros} micro-USD stay held until that is resolved.`;
    case "released":
      return whyReleased(call);
    case "settled":
      return [...howItEnded(call), ...whatItCost(call)].join(" ");
  }
}

function whyReleased({ outcome, httpStatus, attempts }: CallRecord): string {
  if (outcome === "unknown" && httpStatus !== undefined) {
    return "The upstream answered, but the end of the call could not be booked, so the caller was not given the answer. Nothing was charged and the hold was released.";
  }
  if (outcome === "unknown") {
    return "No answer came back, so it is not known whether the upstream did the work. Nothing was charged and the hold was released.";
  }
  if (attempts.at(-1)?.outcome === callerLeft) {
    return "The caller left before anything of the answer had come, so nothing was charged and the hold was released.";
  }
  return "The call did not succeed, so nothing was charged and the hold was released.";
}

/** Nothing of a call that came to its end. */
function howItEnded({ outcome, used, attempts }: CallRecord): string[] {
  const last = attempts.at(-1)?.outcome;
  if (outcome === "unknown") {
    return ["The gateway stopped while this call was streaming; what it had delivered by then is paid for."];
  }
  // Only answers that are counted in tokens are streamed, and beside a stream only a task can fail when some of it was made.
  if (outcome === "failed" && used["output_tokens"] === undefined) {
    return ["The task was cancelled; what had been made of it by then is paid for."];
  }
  if (outcome === "failed") {
    const how =
      last === callerStalled
        ? "The answer ended too early after the caller had stopped reading for a while"
        : "The provider's answer broke off or ended with an error";
    return [`${how}; what had passed of it by then is paid for.`];
  }
  if (last === callerLeft) {
    return ["The caller left before the end of the answer; what was used of it is paid for all the same."];
  }
  return [];
}

function whatItCost(call: CallRecord): string[] {
  const reasons = [
    `Held ${call.heldMicros} micro-USD as the most it could cost; metered ${call.valueMicros} at list price; charged ${call.chargedMicros}.`,
  ];
  if (call.multiplierPpm !== 1_000_000n) {
    reasons.push(`The plan multiplies list prices by ${multiplierFromPpm(call.multiplierPpm)}.`);
  }
  if (call.usageSource === "estimated") reasons.push("The provider reported no usage, so it was estimated.");
  if (call.writtenOffMicros > 0n) {
    reasons.push(`${call.writtenOffMicros} micro-USD above the hold were written off, not charged.`);
  }
  reasons.push("Fractions of a micro-USD are carried to the account's next call.");
  return reasons;
}
