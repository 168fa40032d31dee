// Tasks as the books keep them. A task is open exactly as long as its call, so the ledger opens and ends both.

import type { Quantities } from "../prices/quantities.ts";
import type { Terms } from "../prices/terms.ts";
import type { Attempt } from "./call-record.ts";

/** The words of the specification for where a task is. */
export const taskStatuses = ["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELED", "UNKNOWN"] as const;
export type TaskStatus = (typeof taskStatuses)[number];

/** A vendor's word about a task. */
export interface TaskState {
  readonly kind: "state";
  readonly status: TaskStatus;
  readonly upstreamTaskId: string;
  /** Present with every success: without anything to fetch it would not be a success. */
  readonly videoUrl: string | undefined;
  readonly origPrompt: string | undefined;
  /** As reported, fractions included; undefined when the vendor does not say. */
  readonly durationSeconds: number | undefined;
  /** How long the videos are that were looked at to make this one, as far as they are billed. */
  readonly inputSeconds: number | undefined;
  /** The figure of the resolution, such as 720. */
  readonly resolution: number | undefined;
  readonly videoCount: number | undefined;
  readonly submitAtMs: number | undefined;
  readonly scheduledAtMs: number | undefined;
  readonly endAtMs: number | undefined;
  readonly code: string | undefined;
  readonly message: string | undefined;
}

/**
 * Where an open task is. `CREATING` until the vendor's id of it is written down; `LOST` when nobody knows whether the
 * vendor has it: it is never created again, and its hold stays until the deadline. The others are the vendor's words.
 */
export type OpenState = "CREATING" | "LOST" | "PENDING" | "RUNNING" | "UNKNOWN";

/** How a task ended. `REFUSED` never became one; `EXPIRED` reached its deadline without a verdict. */
type FinalState = "SUCCEEDED" | "FAILED" | "CANCELED" | "EXPIRED" | "REFUSED";

/** Work that goes on at a vendor after the call that began it, with that call's hold open beside it. */
export interface Task {
  readonly id: string;
  /** The call that created it: its hold, its receipt and its idempotency key. */
  readonly callId: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly operationId: string;
  readonly state: OpenState | FinalState;
  /** Undefined until the vendor's id is written down. */
  readonly at: { readonly upstream: string; readonly taskId: string } | undefined;
  /** What it will use by the request: what is charged when a success says nothing about it. */
  readonly expected: Quantities;
  /** The prices it was held under. */
  readonly terms: Terms;
  readonly attempts: readonly Attempt[];
  /** The vendor's last word. */
  readonly report: TaskState | undefined;
  readonly createdAtMs: number;
  /** When the vendor was last asked about it. */
  readonly askedAtMs: number;
  readonly nextPollAtMs: number;
  /** Without a verdict by then the hold goes back. */
  readonly deadlineAtMs: number;
  /** Grows with every claim. What was seen under an older one changes nothing any more. */
  readonly fence: number;
  /** Answers in a row that said nothing, and of these how many said that there is no such task. */
  readonly errors: number;
  readonly missing: number;
  readonly endedAtMs: number | undefined;
  /** From then on it is as if it had never been: its result cannot be fetched any more. */
  readonly forgetAtMs: number | undefined;
}

/** One that its vendor has: whatever can be asked about. */
export interface PlacedTask extends Task {
  readonly at: NonNullable<Task["at"]>;
}

/** A task as the hold creates it, in the same transaction. */
export interface NewTask {
  readonly id: string;
  readonly expected: Quantities;
  readonly deadlineAtMs: number;
  /** How many open tasks the key may have, this one included. */
  readonly openMax: number;
}

/** How a task ends, in the same transaction as its call. Ignored when the claim it was seen under is gone. */
export interface TaskEnd {
  readonly taskId: string;
  readonly fence: number;
  readonly state: FinalState;
  readonly report: TaskState | undefined;
  readonly forgetAtMs: number;
}
