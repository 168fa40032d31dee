import type { Attempt } from "../ledger/call-record.ts";
import type { OpenState, PlacedTask, Task, TaskState } from "../ledger/task-record.ts";

/** The vendor has the task, under this id. */
export interface BegunTask {
  readonly taskId: string;
  readonly upstream: string;
  readonly upstreamTaskId: string;
  readonly state: "PENDING" | "RUNNING";
  readonly attempts: readonly Attempt[];
  readonly askedAtMs: number;
  readonly nextPollAtMs: number;
}

/** What was learnt by asking, short of an end. */
export interface TaskNote {
  readonly taskId: string;
  readonly fence: number;
  readonly state: OpenState;
  readonly report: TaskState | undefined;
  readonly errors: number;
  readonly missing: number;
  readonly nextPollAtMs: number;
}

/**
 * The tasks. Invariants: a task exists from the hold of its call on, and is open exactly as long as that call
 * (`Ledger.hold`, `settle` and `release` open and end both in one transaction); the vendor's id is written once, and no two
 * tasks have the same; a task has one claim at a time, and whoever lost it changes nothing. When a promise resolves, it is
 * on disk.
 */
export interface TaskBook {
  /** Of this account only: another's task does not exist. */
  readonly find: (accountId: string, taskId: string) => Promise<Task | undefined>;
  readonly findByCall: (callId: string) => Promise<Task | undefined>;
  /** Open tasks that count against the key's limit; what is lost does not. */
  readonly countOpen: (keyId: string) => Promise<number>;
  /** False, and nothing is changed, when another task has this id of the vendor's: no two tasks are one at a vendor. */
  readonly begin: (begun: BegunTask) => Promise<boolean>;
  /** Nobody knows whether the vendor has it. Changes only a task that is being created. */
  readonly lose: (taskId: string, attempts: readonly Attempt[]) => Promise<void>;
  /** The upstreams that have open tasks. */
  readonly listUpstreams: () => Promise<readonly string[]>;
  /** How many tasks of an upstream wait to be asked about, counted up to `limit`. */
  readonly countDue: (which: {
    readonly upstream: string;
    readonly nowMs: number;
    readonly limit: number;
  }) => Promise<number>;
  /** Claims the tasks of an upstream that have waited longest, as many as can be asked about at once. */
  readonly claimDue: (which: {
    readonly upstream: string;
    readonly nowMs: number;
    readonly leaseMs: number;
    readonly limit: number;
  }) => Promise<readonly PlacedTask[]>;
  /** Claims one task, unless somebody has it or asked since `notAskedSinceMs`. */
  readonly claim: (which: {
    readonly taskId: string;
    readonly nowMs: number;
    readonly leaseMs: number;
    readonly notAskedSinceMs: number;
  }) => Promise<PlacedTask | undefined>;
  /** Ends the claim with what was learnt; false when it was lost before. */
  readonly note: (note: TaskNote) => Promise<boolean>;
  /** Lets the task be asked about as soon as the pace allows. */
  readonly hurry: (taskId: string, nowMs: number) => Promise<void>;
  /** What was asked about after a time that has not come yet, by a clock that went wrong, may be asked about again. */
  readonly bringBack: (which: { readonly nowMs: number; readonly askedAfterMs: number }) => Promise<void>;
  /**
   * Open tasks past their deadline that nobody has claimed, the oldest first. One that its vendor has is among them when
   * it was asked about since the deadline, or an hour later.
   */
  readonly listOverdue: (nowMs: number, limit: number) => Promise<readonly Task[]>;
}
