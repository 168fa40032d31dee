import type { CallOutcome, CallState } from "../../../ledger/call-record.ts";
import type { BoundStanding, HoldFacts } from "../../../ledger/why-not-held.ts";
import type { Micros } from "../../../platform/money.ts";
import { accountToCharge } from "../../call-ends.ts";
import { heldCallOf } from "../../held-call-rows.ts";
import type { HeldCall } from "../../held-call.ts";
import type { Query } from "../server/query.ts";
import { approvalFactsOf, type ApprovalFacts } from "./approval-facts.ts";
import { boundFactsOf } from "./bound-facts.ts";
import { claimFactsOf, type ClaimFacts } from "./claim-facts.ts";
import {
  readFactRows,
  type AccountRow,
  type CallRow,
  type FactRows,
  type Lock,
  type TaskRow,
  type WantedFacts,
} from "./fact-rows.ts";

/** Everything a batch is decided by. Each command that is decided changes it for the next one. */
export interface LedgerFacts extends HoldFacts, ClaimFacts, ApprovalFacts {
  readonly calls: Map<string, CallFacts>;
  readonly tasks: ReadonlyMap<string, TaskFacts>;
  readonly account: (accountId: string) => AccountFacts | undefined;
  /** Somebody else has locked the account, and the batch did not wait: nothing is known of it. */
  readonly isElsewhere: (accountId: string) => boolean;
  /** Moves every figure in which the call counts. */
  readonly move: (call: HeldCall, by: BoundStanding) => void;
  readonly openTask: (keyId: string) => void;
}

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

export async function readFacts(
  query: Query,
  wanted: WantedFacts,
  { lock }: { readonly lock: Lock },
): Promise<LedgerFacts> {
  return factsOf(await readFactRows(query, wanted, lock));
}

function factsOf(rows: FactRows): LedgerFacts {
  const accounts = new Map(rows.accounts.map((row) => [row.id, accountOf(row)]));
  const elsewhere = new Set(rows.present.map(({ id }) => id).filter((id) => !accounts.has(id)));
  const calls = new Map<string, CallFacts>();
  for (const row of [...rows.calls, ...rows.claimed]) calls.set(row.id, callOf(row));
  const liveGrants = new Map(rows.grants.map((row) => [row.id, Number(row.expires_at_ms)]));
  const openTasks = new Map(rows.openTasks.map((row) => [row.key_id, Number(row.open)]));
  const { budget, grantDay, moveBounds } = boundFactsOf(rows.budgets, rows.grantDays);

  const move = (call: HeldCall, by: BoundStanding): void => {
    const account = accountToCharge(accounts.get(call.accountId), call.accountId);
    account.postedMicros -= by.spentMicros;
    account.heldMicros += by.heldMicros;
    moveBounds(call, by);
  };

  return {
    calls,
    tasks: new Map(rows.tasks.map((row) => [row.id, taskOf(row)])),
    account: (accountId) => accounts.get(accountId),
    isElsewhere: (accountId) => elsewhere.has(accountId),
    budget,
    grantDay,
    move,
    isGrantAlive: (grantId, nowMs) => (liveGrants.get(grantId) ?? 0) > nowMs,
    countOpenTasks: (keyId) => openTasks.get(keyId) ?? 0,
    openTask: (keyId) => void openTasks.set(keyId, (openTasks.get(keyId) ?? 0) + 1),
    ...claimFactsOf(rows, calls),
    ...approvalFactsOf(rows.approvalItems),
  };
}

const accountOf = (row: AccountRow): AccountFacts => ({
  suspended: row.suspended,
  budgetsBegun: row.budgets_begun,
  postedMicros: row.posted_micros,
  heldMicros: row.held_micros,
  chargeCarryAtto: row.charge_carry_atto,
  valueCarryPico: row.value_carry_pico,
});

export const callOf = (row: CallRow): CallFacts => ({
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

const taskOf = (row: TaskRow): TaskFacts => ({
  callId: row.call_id,
  keyId: row.key_id,
  fence: Number(row.fence),
  isUnheardOf: row.state === "CREATING" || row.state === "LOST",
  isEnded: row.ended_at_ms !== null,
});
