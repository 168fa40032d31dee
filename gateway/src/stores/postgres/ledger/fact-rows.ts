// What a batch of writes has to know before it decides, read in one round trip with everything locked that decides.

import { budgetSpan } from "../../../keys/budget-window.ts";
import type { CallOutcome, CallState } from "../../../ledger/call-record.ts";
import type { WantedHold } from "../../../ledger/ledger.ts";
import type { HeldRow } from "../../held-call-rows.ts";
import type { UnpaidClaimRow } from "../../unpaid-claims.ts";
import { hexOf, jsonOf } from "../server/json-rows.ts";
import type { Query } from "../server/query.ts";

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

export const nothingWanted: Wanted = {
  accountIds: [],
  callIds: [],
  holds: [],
  taskIds: [],
  taskCallIds: [],
};

/**
 * With a lock, nobody else moves what was read until the transaction ends; without, it is what one moment shows. Accounts
 * that somebody else has locked are waited for, or left out.
 */
export type Lock = "wait" | "skip" | "none";

export interface FactRows extends KeyHolders {
  readonly accounts: readonly AccountRow[];
  readonly calls: readonly CallRow[];
  readonly budgets: readonly WindowRow[];
  readonly grants: readonly GrantRow[];
  readonly days: readonly DayRow[];
  readonly open: readonly OpenRow[];
  readonly tasks: readonly TaskRow[];
  readonly items: readonly ItemRow[];
  /** Accounts that are there, whether or not somebody else has them. */
  readonly present: readonly { readonly id: string }[];
}

/** Who has the wanted idempotency keys. */
interface KeyHolders {
  readonly claimed: readonly (CallRow & ClaimRow)[];
  /** Links that were begun, and applications. */
  readonly unpaid: readonly UnpaidRow[];
}

export async function readFactRows(query: Query, wanted: Wanted, lock: Lock): Promise<FactRows> {
  const forUpdate = lock === "none" ? "" : "FOR NO KEY UPDATE";
  const forShare = lock === "none" ? "" : "FOR SHARE";
  const { holds } = wanted;
  const claims = holds.flatMap(({ accountId, idempotency }) =>
    idempotency ? { accountId, ...idempotency } : [],
  );
  const windows = windowsOf(holds);
  const wantedGrants = holds.flatMap(({ grant }) => grant ?? []);
  const approvals = holds.flatMap(({ approval, accountId }) =>
    approval ? { id: approval.id, accountId } : [],
  );
  const creating = holds.flatMap(({ task, keyId }) => (task ? keyId : []));
  const none = Promise.resolve([]);
  // The server takes these one after the other, so whatever comes behind the first sees what its lock has waited for.
  const [accounts, calls, holders, budgets, grants, days, open, tasks, items, present] = await Promise.all([
    wanted.accountIds.length === 0
      ? none
      : query<AccountRow>(
          `SELECT id, suspended, posted_micros, held_micros, charge_carry_atto, value_carry_pico, budgets_begun
             FROM account WHERE id = ANY($1::text[]) ORDER BY id ${forUpdate} ${lock === "skip" ? "SKIP LOCKED" : ""}`,
          [wanted.accountIds],
        ),
    wanted.callIds.length === 0
      ? none
      : query<CallRow>(`SELECT ${callColumns} FROM ${callsWithPrices} WHERE call.id = ANY($1::text[])`, [
          wanted.callIds,
        ]),
    claims.length === 0 ? nobody : readKeyHolders(query, claims),
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
    wantedGrants.length === 0
      ? none
      : query<GrantRow>(
          `SELECT id, expires_at_ms FROM oauth_grant WHERE id = ANY($1::text[]) AND revoked_at_ms IS NULL
             ORDER BY id ${forShare}`,
          [wantedGrants.map(({ id }) => id)],
        ),
    wantedGrants.length === 0
      ? none
      : query<DayRow>(
          "SELECT grant_id, day_start_ms, spent_micros, held_micros FROM grant_day WHERE grant_id = ANY($1::text[])",
          [wantedGrants.map(({ id }) => id)],
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
  return { accounts, calls, ...holders, budgets, grants, days, open, tasks, items, present };
}

const nobody: KeyHolders = { claimed: [], unpaid: [] };

async function readKeyHolders(
  query: Query,
  claims: readonly { readonly accountId: string; readonly keyHash: Uint8Array }[],
): Promise<KeyHolders> {
  const keys = jsonOf(
    claims.map((claim) => ({ account_id: claim.accountId, key_hash: hexOf(claim.keyHash) })),
  );
  const [claimed, unpaid] = await Promise.all([
    query<CallRow & ClaimRow>(
      `SELECT claim.key_hash, claim.fingerprint, ${callColumns} FROM ${callsWithPrices}
         JOIN claim ON claim.call_id = call.id
         JOIN json_to_recordset($1::text::json) AS wanted (account_id text, key_hash text)
           ON claim.account_id = wanted.account_id AND claim.key_hash = decode(wanted.key_hash, 'hex')`,
      [keys],
    ),
    query<UnpaidRow>(
      `SELECT found.* FROM json_to_recordset($1::text::json) AS wanted (account_id text, key_hash text), LATERAL (
           SELECT account_id, key_hash, id, fingerprint, expires_at_ms AS ended_at_ms FROM link_attempt
           WHERE account_id = wanted.account_id AND key_hash = decode(wanted.key_hash, 'hex') UNION ALL
           SELECT account_id, key_hash, id, fingerprint, created_at_ms FROM quota_application
           WHERE account_id = wanted.account_id AND key_hash = decode(wanted.key_hash, 'hex')) AS found`,
      [keys],
    ),
  ]);
  return { claimed, unpaid };
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

const callColumns = `
  call.id, call.account_id, call.key_id, call.operation_id, call.model, held_micros, price_version, multiplier_ppm,
  budget_day_start_ms, grant_id, run_id, call.created_at_ms, state, outcome, value_micros, charged_micros,
  written_off_micros, settled_at_ms, progress, unit_prices`;
const callsWithPrices = "call JOIN price ON price.version = price_version";

export interface AccountRow {
  id: string;
  suspended: boolean;
  posted_micros: bigint;
  held_micros: bigint;
  charge_carry_atto: bigint;
  value_carry_pico: bigint;
  budgets_begun: bigint;
}

export interface CallRow extends HeldRow {
  state: CallState;
  outcome: CallOutcome | null;
  value_micros: bigint;
  charged_micros: bigint;
  written_off_micros: bigint;
  settled_at_ms: bigint | null;
  progress: string | null;
  unit_prices: string;
}

interface ClaimRow {
  key_hash: Uint8Array;
  fingerprint: Uint8Array;
}

interface UnpaidRow extends UnpaidClaimRow {
  account_id: string;
  key_hash: Uint8Array;
}

export interface BoundRow {
  spent_micros: bigint;
  held_micros: bigint;
}

export interface WindowRow extends BoundRow {
  key_id: string;
  start_ms: bigint;
  end_ms: bigint;
}

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

export interface TaskRow {
  id: string;
  call_id: string;
  key_id: string;
  fence: bigint;
  state: string;
  ended_at_ms: bigint | null;
}

export interface ItemRow {
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
