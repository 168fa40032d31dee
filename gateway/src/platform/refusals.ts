// The closed list of answers that say no. The status belongs to the code; the doors only choose the shape.

import { shortened } from "./shortened.ts";

interface Refusal {
  readonly status: number;
  /** `flat` is {"error":"…","code":"…"}; `nested` puts code and message inside `error`; `bare` has no `error`. */
  readonly shape: "flat" | "nested" | "bare";
}

const flat = <Status extends number>(status: Status) => ({ status, shape: "flat" }) as const;
const nested = <Status extends number>(status: Status) => ({ status, shape: "nested" }) as const;

export const refusals = {
  invalid_parameters: flat(400),
  cost_quote_unsupported: flat(400),
  definition_pending: flat(400),
  missing_api_key: flat(401),
  invalid_api_key: flat(401),
  expired_api_key: flat(401),
  estimated_price_exceeds_max_price: nested(402),
  budget_exceeded: nested(402),
  insufficient_balance: nested(402),
  link_required: nested(403),
  link_expired: nested(403),
  insufficient_scope: nested(403),
  not_allowed_for_key: nested(403),
  account_suspended: nested(403),
  approval_required: nested(403),
  approval_declined: nested(403),
  unknown_endpoint: flat(404),
  request_not_found: flat(404),
  link_not_found: flat(404),
  model_not_found: flat(404),
  unknown_operation: flat(404),
  method_not_allowed: flat(405),
  request_timeout: flat(408),
  request_already_completed: nested(409),
  request_in_progress: nested(409),
  idempotency_key_reused: nested(409),
  outcome_unknown: nested(409),
  contract_hash_mismatch: flat(409),
  traffic_analytics_request_already_completed: nested(409),
  traffic_analytics_request_in_progress: nested(409),
  traffic_analytics_idempotency_key_reused: nested(409),
  traffic_analytics_outcome_unknown: nested(409),
  payload_too_large: flat(413),
  unsupported_media_type: flat(415),
  websocket_unsupported: flat(426),
  headers_too_large: flat(431),
  rate_limit_exceeded: nested(429),
  upstream_rate_limit: nested(429),
  quota_exceeded: nested(429),
  internal: flat(500),
  unsupported_uri: { status: 500, shape: "bare" },
  provider_request_failed: flat(502),
  provider_unavailable: nested(503),
  billing_dependency_timeout: nested(503),
  billing_unavailable: nested(503),
  billing_config_invalid: nested(503),
  authentication_unavailable: nested(503),
  contract_unavailable: nested(503),
} as const satisfies Record<string, Refusal>;

export type RefusalCode = keyof typeof refusals;
export type RefusalStatus = (typeof refusals)[RefusalCode]["status"];

export interface RefusalDetails {
  /** Members that stand inside `error`. Numbers only where they fit a JSON number exactly. */
  readonly inError?: { readonly retryable?: never; readonly [member: string]: unknown };
  /** Members that stand beside `error` in the plain shape (and inside it in the model dialects). */
  readonly beside?: { readonly original?: OriginalCall; readonly [member: string]: unknown };
  /** The original cost nothing and has no receipt to look at. */
  readonly originalUnpaid?: boolean;
  readonly retryAfterSeconds?: number;
  /** Whether a client should send the call again by itself; the body says it too, where its shape has a place for it. */
  readonly retryable?: boolean;
  /** The field at fault, for dialects that have a place for it. */
  readonly field?: string;
}

/** The earlier call that an idempotency key or an approval was used for, as the one who repeats it is told. */
export interface OriginalCall {
  readonly request_id: string;
  readonly status: string;
  readonly charged_micros_usd: number;
}

/** The longest that is no quotation names what a key may call, and fits. */
const messageCharactersMax = 2_500;

/** A refusal on purpose: everything in it is safe for the caller to read. Anything else thrown is a bug. */
export class CallRefused extends Error {
  readonly code: RefusalCode;
  readonly details: RefusalDetails;

  constructor(code: RefusalCode, message: string, details: RefusalDetails = {}) {
    super(shortened(message, messageCharactersMax));
    this.name = "CallRefused";
    this.code = code;
    this.details = details.field === undefined ? details : { ...details, field: shortened(details.field) };
  }

  get status(): number {
    return refusals[this.code].status;
  }
}

export function refuse(code: RefusalCode, message: string, details?: RefusalDetails): never {
  throw new CallRefused(code, message, details);
}
