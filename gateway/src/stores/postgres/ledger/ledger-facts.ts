import { checkApproval, type ApprovalStanding } from "../../../approvals/check-approval.ts";
import type { BudgetSpan } from "../../../keys/budget-window.ts";
import type { CallOutcome, CallState } from "../../../ledger/call-record.ts";
import { keepsKey } from "../../../ledger/idempotency-key.ts";
import type { EarlierCall, IdempotencyClaim } from "../../../ledger/ledger.ts";
import type { BoundStanding, HoldFacts } from "../../../ledger/why-not-held.ts";
import type { Micros } from "../../../platform/money.ts";
import { heldCallOf } from "../../held-call-rows.ts";
import type { HeldCall } from "../../held-call.ts";
import { dayStartMs } from "../../sums.ts";
import { earlierUnpaid, type UnpaidClaimRow } from "../../unpaid-claims.ts";
import {
  readFactRows,
  type AccountRow,
  type BoundRow,
  type CallRow,
  type FactRows,
  type ItemRow,
  type Lock,
  type TaskRow,
  type Wanted,
  type WindowRow,
} from "./fact-rows.ts";
import { hexOf } from "../server/json-rows.ts";
import type { Query } from "../server/query.ts";

/** Where an account stands; the batch moves these figures as it decides. */
interface AccountFacts {
  readonly suspended: boolean;
  readonly budgetsBegun: bigint;
  postedMicros: Micros;
  heldMicros: Micros;
  chargeCarryAtto: bigint;
  valueCarryPico: bigint;
}

/** A call as its row has it, and as the batch has changed it since. */
export interface CallFacts {
  readonly held: HeldCall;
  state: CallState;
  outcome: CallOutcome | undefined;
  valueMicros: Micros;
  chargedMicros: Micros;
  writtenOffMicros: Micros;
  settledAtMs: number | undefined;
  progress: string | null;
  readonly unit_prices: string;
}

interface TaskFacts {
  readonly callId: string;
  readonly keyId: string;
  readonly fence: number;
  /** Its vendor has said nothing of it: it is being created, or somebody took it for lost. */
  readonly isUnheardOf: boolean;
  isEnded: boolean;
}

interface ApprovalFacts extends ApprovalStanding {
  readonly items: {
    readonly position: number;
    readonly digest: Uint8Array;
    readonly capMicros: Micros;
    callId: string | undefined;
  }[];
}

interface Window extends BoundStanding, BudgetSpan {}

/** Everything a batch is decided by. Each command that is decided changes it for the next one. */
export interface LedgerFacts extends HoldFacts {
  readonly accounts: ReadonlyMap<string, AccountFacts>;
  readonly calls: Map<string, CallFacts>;
  readonly tasks: ReadonlyMap<string, TaskFacts>;
  readonly account: (accountId: string) => AccountFacts | undefined;
  /** Somebody else has the account, and it was not waited for: what is known of it means nothing. */
  readonly isElsewhere: (accountId: string) => boolean;
  /** Moves every figure in which the call counts. */
  readonly move: (call: HeldCall, by: BoundStanding) => void;
  readonly claim: (call: HeldCall, claim: IdempotencyClaim) => void;
  readonly unclaim: (call: HeldCall, keyHash: Uint8Array) => void;
  readonly openTask: (keyId: string) => void;
  /** The item of an approval that was checked, from now on the call's. */
  readonly useApproval: (approvalId: string, digest: Uint8Array, callId: string) => number;
  /** What the call has of an approval is nobody's from now on. */
  readonly freeApproval: (approvalId: string, callId: string) => void;
}

export async function readFacts(
  query: Query,
  wanted: Wanted,
  { lock }: { readonly lock: Lock },
): Promise<LedgerFacts> {
  return factsOf(await readFactRows(query, wanted, lock));
}

function factsOf(rows: FactRows): LedgerFacts {
  const accounts = new Map(rows.accounts.map((row) => [row.id, accountOf(row)]));
  const elsewhere = new Set(rows.present.map(({ id }) => id).filter((id) => !accounts.has(id)));
  const calls = new Map<string, CallFacts>();
  for (const row of [...rows.calls, ...rows.claimed]) calls.set(row.id, callOf(row));
  const claimed = new Map<string, { callId: string; fingerprint: Uint8Array }>();
  for (const row of rows.claimed)
    claimed.set(claimName(row.account_id, row.key_hash), { callId: row.id, fingerprint: row.fingerprint });
  const unpaid = new Map<string, UnpaidClaimRow[]>();
  for (const row of rows.unpaid) listIn(unpaid, claimName(row.account_id, row.key_hash)).push(row);
  const budgets = new Map<string, Window[]>();
  for (const row of rows.budgets) listIn(budgets, row.key_id).push(windowOf(row));
  const liveGrants = new Map(rows.grants.map((row) => [row.id, Number(row.expires_at_ms)]));
  const days = new Map<string, BoundStanding>();
  for (const row of rows.days) days.set(dayName(row.grant_id, Number(row.day_start_ms)), boundOf(row));
  const open = new Map(rows.open.map((row) => [row.key_id, Number(row.open)]));
  const tasks = new Map(rows.tasks.map((row) => [row.id, taskOf(row)]));
  const asked = approvalsOf(rows.items);

  const budget = (keyId: string, { startMs, endMs }: BudgetSpan): BoundStanding => {
    const found = budgets.get(keyId)?.find((window) => window.startMs === startMs && window.endMs === endMs);
    if (!found) throw new Error(`The budget of ${keyId} was not read.`);
    return found;
  };

  const grantDay = (grantId: string, startMs: number): BoundStanding => {
    const name = dayName(grantId, startMs);
    let day = days.get(name);
    if (!day) days.set(name, (day = { spentMicros: 0n, heldMicros: 0n }));
    return day;
  };

  const findEarlier: HoldFacts["findEarlier"] = (accountId, claim, nowMs): EarlierCall | undefined => {
    const name = claimName(accountId, claim.keyHash);
    const found = claimed.get(name);
    const call = found && calls.get(found.callId);
    if (!call || !keepsKey(call.settledAtMs, nowMs))
      return earlierUnpaid(unpaid.get(name) ?? [], claim, nowMs);
    return {
      callId: call.held.callId,
      sameRequest: Buffer.compare(found.fingerprint, claim.fingerprint) === 0,
      state: call.state,
      outcome: call.outcome,
      chargedMicros: call.chargedMicros,
    };
  };

  return {
    accounts,
    calls,
    tasks,
    account: (accountId) => accounts.get(accountId),
    isElsewhere: (accountId) => elsewhere.has(accountId),
    budget,
    grantDay,
    findEarlier,
    countOpenTasks: (keyId) => open.get(keyId) ?? 0,
    isGrantAlive: (grantId, nowMs) => (liveGrants.get(grantId) ?? 0) > nowMs,
    checkApproval: (claim, use) => {
      const approval = asked.get(claim.id);
      return checkApproval(approval?.accountId === use.accountId ? approval : undefined, claim, use);
    },
    move: (call, { spentMicros, heldMicros }) => {
      const account = accounts.get(call.accountId);
      if (!account) throw new Error(`There is no account ${call.accountId} to charge.`);
      account.postedMicros -= spentMicros;
      account.heldMicros += heldMicros;
      const bounds: BoundStanding[] = [];
      const { budgetDayMs } = call;
      if (budgetDayMs !== null) {
        for (const window of budgets.get(call.keyId) ?? [])
          if (window.startMs <= budgetDayMs && budgetDayMs < window.endMs) bounds.push(window);
      }
      if (call.grantId !== null) bounds.push(grantDay(call.grantId, dayStartMs(call.createdAtMs)));
      for (const bound of bounds) {
        bound.spentMicros += spentMicros;
        bound.heldMicros += heldMicros;
      }
    },
    claim: (call, { keyHash, fingerprint }) =>
      void claimed.set(claimName(call.accountId, keyHash), { callId: call.callId, fingerprint }),
    unclaim: (call, keyHash) => {
      const name = claimName(call.accountId, keyHash);
      if (claimed.get(name)?.callId === call.callId) claimed.delete(name);
    },
    openTask: (keyId) => void open.set(keyId, (open.get(keyId) ?? 0) + 1),
    useApproval: (approvalId, digest, callId) => {
      const item = asked
        .get(approvalId)
        ?.items.find((each) => each.callId === undefined && Buffer.compare(each.digest, digest) === 0);
      if (!item) throw new Error(`The approval ${approvalId} was checked, but is not there to be used.`);
      item.callId = callId;
      return item.position;
    },
    freeApproval: (approvalId, callId) => {
      for (const item of asked.get(approvalId)?.items ?? [])
        if (item.callId === callId) item.callId = undefined;
    },
  };
}

const claimName = (accountId: string, keyHash: Uint8Array): string => `${accountId} ${hexOf(keyHash)}`;
const dayName = (grantId: string, startMs: number): string => `${grantId} ${startMs}`;

function listIn<Kept>(lists: Map<string, Kept[]>, name: string): Kept[] {
  let list = lists.get(name);
  if (!list) lists.set(name, (list = []));
  return list;
}

const accountOf = (row: AccountRow): AccountFacts => ({
  suspended: row.suspended,
  budgetsBegun: row.budgets_begun,
  postedMicros: row.posted_micros,
  heldMicros: row.held_micros,
  chargeCarryAtto: row.charge_carry_atto,
  valueCarryPico: row.value_carry_pico,
});

const callOf = (row: CallRow): CallFacts => ({
  held: heldCallOf(row),
  state: row.state,
  outcome: row.outcome ?? undefined,
  valueMicros: row.value_micros,
  chargedMicros: row.charged_micros,
  writtenOffMicros: row.written_off_micros,
  settledAtMs: row.settled_at_ms === null ? undefined : Number(row.settled_at_ms),
  progress: row.progress,
  unit_prices: row.unit_prices,
});

const boundOf = (row: BoundRow): BoundStanding => ({
  spentMicros: row.spent_micros,
  heldMicros: row.held_micros,
});

const windowOf = (row: WindowRow): Window => ({
  startMs: Number(row.start_ms),
  endMs: Number(row.end_ms),
  ...boundOf(row),
});

const taskOf = (row: TaskRow): TaskFacts => ({
  callId: row.call_id,
  keyId: row.key_id,
  fence: Number(row.fence),
  isUnheardOf: row.state === "CREATING" || row.state === "LOST",
  isEnded: row.ended_at_ms !== null,
});

function approvalsOf(rows: readonly ItemRow[]): Map<string, ApprovalFacts & { readonly accountId: string }> {
  const approvals = new Map<string, ApprovalFacts & { readonly accountId: string }>();
  for (const row of rows) {
    let approval = approvals.get(row.id);
    if (!approval) {
      approval = {
        accountId: row.account_id,
        keyId: row.key_id,
        grantId: row.grant_id ?? undefined,
        decision: row.decision ?? undefined,
        expiresAtMs: Number(row.expires_at_ms),
        items: [],
      };
      approvals.set(row.id, approval);
    }
    approval.items.push({
      position: Number(row.position),
      digest: row.digest,
      capMicros: row.cap_micros,
      callId: row.call_id ?? undefined,
    });
  }
  return approvals;
}
