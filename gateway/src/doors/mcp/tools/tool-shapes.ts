// The shapes that tools.json promises, as types. Amounts are numbers here because the protocol's schemas say so; they
// are made from exact integers at the last moment and nothing is computed with them.

import { usdFromMicros, type Micros } from "../../../platform/money.ts";

export interface UseArguments {
  readonly operation_id: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly max_price_usd: number;
  readonly idempotency_key?: string;
  readonly approval_id?: string;
}

export interface BatchArguments {
  readonly calls: readonly Omit<UseArguments, "approval_id">[];
  readonly max_total_price_usd?: number;
  readonly stop_on_error?: boolean;
  readonly approval_id?: string;
}

export interface ToolError {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly retry_after_seconds?: number;
  readonly charged: "no" | "yes" | "unknown";
}

export interface ApprovalHandle {
  readonly approval_id: string;
  readonly operation_ids: readonly string[];
  readonly rate_usd: number;
  readonly max_exposure_usd: number;
  readonly expires_at: string;
  readonly url: string;
}

export interface TaskHandle {
  readonly task_id: string;
  readonly task_status: string;
  readonly poll_operation_id: string;
  readonly poll_after_seconds: number;
}

export interface UseResult {
  readonly status: "completed" | "accepted" | "approval_required" | "refused" | "failed";
  readonly operation_id: string;
  readonly max_price_usd: number;
  readonly request_id?: string;
  readonly estimate_usd?: number;
  readonly settled_usd?: number;
  readonly settled_micros_usd?: number;
  readonly http_status?: number;
  readonly content_type?: string;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly truncated?: boolean;
  readonly task?: TaskHandle;
  readonly approval?: ApprovalHandle;
  readonly error?: ToolError;
}

export interface BatchResult {
  readonly results: readonly (UseResult & { readonly index: number })[];
  readonly totals: {
    readonly completed: number;
    readonly accepted: number;
    readonly refused: number;
    readonly failed: number;
    readonly not_started: number;
    readonly estimate_usd: number;
    readonly settled_usd?: number;
  };
  readonly approval?: ApprovalHandle;
  readonly error?: ToolError;
}

export const usdNumber = (micros: Micros): number => Number(usdFromMicros(micros));
