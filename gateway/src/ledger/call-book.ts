import type { CallOutcome, CallRecord, CallState } from "./call-record.ts";

/** Calls of one account, newest first. Another account's call does not exist. */
export interface CallBook {
  readonly find: (accountId: string, callId: string) => Promise<CallRecord | undefined>;
  /** Whoever's it is: for the operator alone. */
  readonly findAny: (callId: string) => Promise<CallRecord | undefined>;
  readonly list: (accountId: string, filter: CallFilter) => Promise<CallPage>;
  /** The call that has this idempotency key at that moment; none when the key is free, or something else's. */
  readonly findByKey: (
    accountId: string,
    keyHash: Uint8Array,
    nowMs: number,
  ) => Promise<CallRecord | undefined>;
}

export interface CallFilter {
  readonly limit: number;
  /** List what is older than this call. */
  readonly before: string | undefined;
  /** List nothing that is older than this place in the order of ids. */
  readonly from?: string | undefined;
  readonly operationId: string | undefined;
  readonly status: CallState | undefined;
  readonly keyId: string | undefined;
  readonly grantId?: string | undefined;
  readonly model?: string | undefined;
  readonly outcome?: CallOutcome | undefined;
}

export interface CallPage {
  readonly calls: readonly CallRecord[];
  /** Where to go on; undefined when nothing older is left. A filter that few calls fit may have ended the look early. */
  readonly nextBefore: string | undefined;
}
