// What a batch of writes has to know before it decides, read in one round trip with everything locked that decides.

import { checkApproval, type ApprovalStanding } from "../../approvals/check-approval.ts";
import { budgetSpan, type BudgetSpan } from "../../keys/budget-window.ts";
import type { CallOutcome, CallState } from "../../ledger/call-record.ts";
import { idempotencyKeptMs } from "../../ledger/idempotency-key.ts";
import type { EarlierCall, IdempotencyClaim, WantedHold } from "../../ledger/ledger.ts";
import type { BoundStanding, HoldFacts } from "../../ledger/why-not-held.ts";
import type { Micros } from "../../platform/money.ts";
import type { HeldCall } from "../held-call.ts";
import { dayStartMs } from "../sums.ts";
import type { Query } from "./database.ts";
import { hexOf, jsonOf } from "./json-rows.ts";

/** Where an account stands; the batch moves these figures as it decides. */
interface AccountFacts {
  readonly suspended: boolean;
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
  readonly isCreating: boolean;
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

/** What a batch is about. */
export interface Wanted {
  /** All that are charged or held for. */
  readonly accountIds: readonly string[];
  /** Calls that are held, noted or ended. */
  readonly callIds: readonly string[];
  readonly holds: readonly WantedHold[];
  /** Tasks that end with their calls, and calls whose tasks are abandoned. */
  readonly taskIds: readonly string[];
  readonly taskCallIds: readonly string[];
}

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
}

/**
 * With a lock, nobody else moves what was read until the transaction ends; without, it is what one moment shows. Accounts
 * that somebody else has locked are waited for, or left out.
 */
export async function readFacts(
  query: Query,
  wanted: Wanted,
  { lock }: { readonly lock: "wait" | "skip" | "none" },
): Promise<LedgerFacts> {
  const forUpdate = lock === "none" ? "" : "FOR NO KEY UPDATE";
  const forShare = lock === "none" ? "" : "FOR SHARE";
  const { holds } = wanted;
  const claims = holds.flatMap(({ accountId, idempotency }) =>
    idempotency ? { accountId, ...idempotency } : [],
  );
  const windows = windowsOf(holds);
  const grants = holds.flatMap(({ grant }) => grant ?? []);
  const approvals = holds.flatMap(({ approval, accountId }) =>
    approval ? { id: approval.id, accountId } : [],
  );
  const creating = holds.flatMap(({ task, keyId }) => (task ? keyId : []));
  const none = Promise.resolve([]);
  // The server takes these one after the other, so whatever comes behind the first sees what its lock has waited for.
  const [
    accountRows,
    callRows,
    claimRows,
    windowRows,
    grantRows,
    dayRows,
    openRows,
    taskRows,
    itemRows,
    presentRows,
  ] = await Promise.all([
    wanted.accountIds.length === 0
      ? none
      : query<AccountRow>(
          `SELECT id, suspended, posted_micros, held_micros, charge_carry_atto, value_carry_pico
             FROM account WHERE id = ANY($1::text[]) ORDER BY id ${forUpdate} ${lock === "skip" ? "SKIP LOCKED" : ""}`,
          [wanted.accountIds],
        ),
    wanted.callIds.length === 0
      ? none
      : query<CallRow>(`${selectCalls} WHERE call.id = ANY($1::text[])`, [wanted.callIds]),
    claims.length === 0
      ? none
      : query<CallRow & ClaimRow>(
          `${selectCalls.replace("SELECT", "SELECT claim.key_hash, claim.fingerprint,")}
             JOIN claim ON claim.call_id = call.id
             JOIN json_to_recordset($1::text::json) AS wanted (account_id text, key_hash text)
               ON claim.account_id = wanted.account_id AND claim.key_hash = decode(wanted.key_hash, 'hex')`,
          [
            JSON.stringify(
              claims.map((claim) => ({ account_id: claim.accountId, key_hash: hexOf(claim.keyHash) })),
            ),
          ],
        ),
    windows.length === 0
      ? none
      : query<WindowRow>(
          `SELECT wanted.key_id, wanted.start_ms, wanted.end_ms, coalesce(sum(spent_micros), 0)::bigint AS spent_micros,
                    coalesce(sum(held_micros), 0)::bigint AS held_micros
             FROM json_to_recordset($1::text::json) AS wanted (key_id text, start_ms bigint, end_ms bigint)
             LEFT JOIN budget ON budget.key_id = wanted.key_id
               AND budget.day_start_ms >= wanted.start_ms AND budget.day_start_ms < wanted.end_ms
             GROUP BY 1, 2, 3`,
          [jsonOf(windows)],
        ),
    grants.length === 0
      ? none
      : query<GrantRow>(
          `SELECT id, expires_at_ms FROM oauth_grant WHERE id = ANY($1::text[]) AND revoked_at_ms IS NULL
             ORDER BY id ${forShare}`,
          [grants.map(({ id }) => id)],
        ),
    grants.length === 0
      ? none
      : query<DayRow>(
          "SELECT grant_id, day_start_ms, spent_micros, held_micros FROM grant_day WHERE grant_id = ANY($1::text[])",
          [grants.map(({ id }) => id)],
        ),
    creating.length === 0
      ? none
      : query<OpenRow>(
          `SELECT key_id, count(*) AS open FROM task
           WHERE key_id = ANY($1::text[]) AND forget_at_ms IS NULL AND state <> 'LOST' GROUP BY 1`,
          [creating],
        ),
    wanted.taskIds.length + wanted.taskCallIds.length === 0
      ? none
      : query<TaskRow>(
          `SELECT id, call_id, key_id, fence, state, ended_at_ms FROM task
             WHERE id = ANY($1::text[]) OR call_id = ANY($2::text[]) ORDER BY id ${forUpdate}`,
          [wanted.taskIds, wanted.taskCallIds],
        ),
    approvals.length === 0
      ? none
      : query<ItemRow>(
          `SELECT approval.id, account_id, key_id, grant_id, decision, expires_at_ms, position, digest, cap_micros, call_id
             FROM approval JOIN approval_item ON approval_id = approval.id
             WHERE approval.id = ANY($1::text[]) ORDER BY approval.id, position ${forUpdate}`,
          [approvals.map(({ id }) => id)],
        ),
    lock === "skip"
      ? query<{ id: string }>("SELECT id FROM account WHERE id = ANY($1::text[])", [wanted.accountIds])
      : none,
  ]);

  const accounts = new Map(accountRows.map((row) => [row.id, accountOf(row)]));
  const elsewhere = new Set(presentRows.map(({ id }) => id).filter((id) => !accounts.has(id)));
  const calls = new Map<string, CallFacts>();
  for (const row of [...callRows, ...claimRows]) calls.set(row.id, callOf(row));
  const claimed = new Map<string, { callId: string; fingerprint: Uint8Array }>();
  for (const row of claimRows)
    claimed.set(claimName(row.account_id, row.key_hash), { callId: row.id, fingerprint: row.fingerprint });
  const budgets = new Map<string, Window[]>();
  for (const row of windowRows) listIn(budgets, row.key_id).push(windowOf(row));
  const liveGrants = new Map(grantRows.map((row) => [row.id, Number(row.expires_at_ms)]));
  const days = new Map<string, BoundStanding>();
  for (const row of dayRows) days.set(dayName(row.grant_id, Number(row.day_start_ms)), boundOf(row));
  const open = new Map(openRows.map((row) => [row.key_id, Number(row.open)]));
  const tasks = new Map(taskRows.map((row) => [row.id, taskOf(row)]));
  const asked = approvalsOf(itemRows);

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
    const found = claimed.get(claimName(accountId, claim.keyHash));
    const call = found && calls.get(found.callId);
    if (!call || (call.settledAtMs !== undefined && call.settledAtMs + idempotencyKeptMs <= nowMs))
      return undefined;
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
  };
}

/** Each span of a key once. */
function windowsOf(holds: readonly WantedHold[]): { key_id: string; start_ms: number; end_ms: number }[] {
  const windows = new Map<string, { key_id: string; start_ms: number; end_ms: number }>();
  for (const { keyId, budget, createdAtMs } of holds) {
    if (!budget) continue;
    const { startMs, endMs } = budgetSpan(budget.window, createdAtMs);
    windows.set(`${keyId} ${startMs} ${endMs}`, { key_id: keyId, start_ms: startMs, end_ms: endMs });
  }
  return [...windows.values()];
}

const claimName = (accountId: string, keyHash: Uint8Array): string => `${accountId} ${hexOf(keyHash)}`;
const dayName = (grantId: string, startMs: number): string => `${grantId} ${startMs}`;

function listIn<Kept>(lists: Map<string, Kept[]>, name: string): Kept[] {
  let list = lists.get(name);
  if (!list) lists.set(name, (list = []));
  return list;
}

interface AccountRow {
  id: string;
  suspended: boolean;
  posted_micros: bigint;
  held_micros: bigint;
  charge_carry_atto: bigint;
  value_carry_pico: bigint;
}

const accountOf = (row: AccountRow): AccountFacts => ({
  suspended: row.suspended,
  postedMicros: row.posted_micros,
  heldMicros: row.held_micros,
  chargeCarryAtto: row.charge_carry_atto,
  valueCarryPico: row.value_carry_pico,
});

interface CallRow {
  id: string;
  account_id: string;
  key_id: string;
  operation_id: string;
  model: string | null;
  held_micros: bigint;
  price_version: string;
  multiplier_ppm: bigint;
  budget_day_start_ms: bigint | null;
  grant_id: string | null;
  run_id: bigint;
  created_at_ms: bigint;
  state: CallState;
  outcome: CallOutcome | null;
  value_micros: bigint;
  charged_micros: bigint;
  written_off_micros: bigint;
  settled_at_ms: bigint | null;
  progress: string | null;
  unit_prices: string;
}

const selectCalls = `
  SELECT call.id, call.account_id, call.key_id, call.operation_id, call.model, held_micros, price_version, multiplier_ppm,
         budget_day_start_ms, grant_id, run_id, call.created_at_ms, state, outcome, value_micros, charged_micros,
         written_off_micros, settled_at_ms, progress, unit_prices
  FROM call JOIN price ON price.version = price_version`;

const callOf = (row: CallRow): CallFacts => ({
  held: {
    callId: row.id,
    accountId: row.account_id,
    keyId: row.key_id,
    operationId: row.operation_id,
    model: row.model,
    heldMicros: row.held_micros,
    priceVersion: row.price_version,
    multiplierPpm: row.multiplier_ppm,
    budgetDayMs: row.budget_day_start_ms === null ? null : Number(row.budget_day_start_ms),
    grantId: row.grant_id,
    runId: row.run_id,
    createdAtMs: Number(row.created_at_ms),
    claim: undefined,
  },
  state: row.state,
  outcome: row.outcome ?? undefined,
  valueMicros: row.value_micros,
  chargedMicros: row.charged_micros,
  writtenOffMicros: row.written_off_micros,
  settledAtMs: row.settled_at_ms === null ? undefined : Number(row.settled_at_ms),
  progress: row.progress,
  unit_prices: row.unit_prices,
});

interface ClaimRow {
  key_hash: Uint8Array;
  fingerprint: Uint8Array;
}

interface BoundRow {
  spent_micros: bigint;
  held_micros: bigint;
}

const boundOf = (row: BoundRow): BoundStanding => ({
  spentMicros: row.spent_micros,
  heldMicros: row.held_micros,
});

interface WindowRow extends BoundRow {
  key_id: string;
  start_ms: bigint;
  end_ms: bigint;
}

const windowOf = (row: WindowRow): Window => ({
  startMs: Number(row.start_ms),
  endMs: Number(row.end_ms),
  ...boundOf(row),
});

interface GrantRow {
  id: string;
  expires_at_ms: bigint;
}

interface DayRow extends BoundRow {
  grant_id: string;
  day_start_ms: bigint;
}

interface OpenRow {
  key_id: string;
  open: bigint;
}

interface TaskRow {
  id: string;
  call_id: string;
  key_id: string;
  fence: bigint;
  state: string;
  ended_at_ms: bigint | null;
}

const taskOf = (row: TaskRow): TaskFacts => ({
  callId: row.call_id,
  keyId: row.key_id,
  fence: Number(row.fence),
  isCreating: row.state === "CREATING",
  isEnded: row.ended_at_ms !== null,
});

interface ItemRow {
  id: string;
  account_id: string;
  key_id: string;
  grant_id: string | null;
  decision: "approved" | "denied" | null;
  expires_at_ms: bigint;
  position: bigint;
  digest: Uint8Array;
  cap_micros: bigint;
  call_id: string | null;
}

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
