// What a batch of writes has to know before it decides, read in one round trip with everything locked that decides.

import type { CallOutcome, CallState } from "../../../ledger/call-record.ts";
import type { WantedHold } from "../../../ledger/ledger.ts";
import type { HeldRow } from "../../held-call-rows.ts";
import { noRows, type Query } from "../server/query.ts";
import {
  countOpenTasks,
  readApprovalItems,
  readBudgets,
  readGrantDays,
  readGrants,
  readUnpaidClaims,
  wantedKeysOf,
  type ApprovalItemRow,
  type ClaimRow,
  type GrantDayRow,
  type GrantRow,
  type OpenTasksRow,
  type UnpaidRow,
  type WindowRow,
} from "./hold-rows.ts";

/** What a batch is about. */
export interface WantedFacts {
  /** All that are charged or held for. */
  readonly accountIds: readonly string[];
  /** Calls that are held, noted or ended. */
  readonly callIds: readonly string[];
  readonly holds: readonly WantedHold[];
  /** Tasks that end with their calls, and calls whose tasks are abandoned. */
  readonly taskIds: readonly string[];
  readonly taskCallIds: readonly string[];
}

export const nothingWanted: WantedFacts = {
  accountIds: [],
  callIds: [],
  holds: [],
  taskIds: [],
  taskCallIds: [],
};

/**
 * With a lock, nobody else moves what was read until the transaction ends. Without one, it is what one moment shows.
 * Accounts that somebody else has locked are waited for, or left out.
 */
export type Lock = "wait" | "skip" | "none";

export interface FactRows {
  readonly accounts: readonly AccountRow[];
  readonly calls: readonly CallRow[];
  /** The calls that have the wanted idempotency keys. */
  readonly claimed: readonly (CallRow & ClaimRow)[];
  /** The begun links and the applications that have them. */
  readonly unpaid: readonly UnpaidRow[];
  readonly budgets: readonly WindowRow[];
  readonly grants: readonly GrantRow[];
  readonly grantDays: readonly GrantDayRow[];
  readonly openTasks: readonly OpenTasksRow[];
  readonly tasks: readonly TaskRow[];
  readonly approvalItems: readonly ApprovalItemRow[];
  /** The accounts that exist, also those that somebody else has locked. */
  readonly present: readonly { readonly id: string }[];
}

export function readFactRows(query: Query, wanted: WantedFacts, lock: Lock): Promise<FactRows> {
  const { accountIds, callIds, holds } = wanted;
  const wantedKeys = wantedKeysOf(holds);
  const grantIds = holds.flatMap(({ grant }) => grant?.id ?? []);
  // The statements are sent in the order in which they stand here. The server runs them one after the other, so all that
  // follow the first see what its locks have waited for. Rows are locked in this order by every batch: keep it.
  return allByName<FactRows>({
    accounts: readAccounts(query, accountIds, lock),
    calls: readCalls(query, callIds),
    claimed: readClaimed(query, wantedKeys),
    unpaid: readUnpaidClaims(query, wantedKeys),
    budgets: readBudgets(query, holds),
    grants: readGrants(query, grantIds, lockOf("FOR SHARE", lock)),
    grantDays: readGrantDays(query, grantIds),
    openTasks: countOpenTasks(query, holds),
    tasks: readTasks(query, wanted, lock),
    approvalItems: readApprovalItems(query, holds, lockOf("FOR NO KEY UPDATE", lock)),
    present: lock === "skip" ? readPresent(query, accountIds) : noRows,
  });
}

/** As Promise.all, by name instead of by place. */
async function allByName<Rows extends object>(read: {
  readonly [Name in keyof Rows]: Promise<Rows[Name]>;
}): Promise<Rows> {
  const rows: unknown[] = await Promise.all(Object.values(read));
  // Every member has the rows of its own promise: Object.keys and Object.values have one order.
  return Object.fromEntries(Object.keys(read).map((name, at) => [name, rows[at]])) as Rows;
}

const lockOf = (clause: "FOR NO KEY UPDATE" | "FOR SHARE", lock: Lock): string =>
  lock === "none" ? "" : clause;

const readAccounts = (query: Query, ids: readonly string[], lock: Lock): Promise<readonly AccountRow[]> =>
  ids.length === 0
    ? noRows
    : query(
        `SELECT id, suspended, posted_micros, held_micros, charge_carry_atto, value_carry_pico, budgets_begun
         FROM account WHERE id = ANY($1::text[]) ORDER BY id
         ${lockOf("FOR NO KEY UPDATE", lock)} ${lock === "skip" ? "SKIP LOCKED" : ""}`,
        [ids],
      );

export interface AccountRow {
  id: string;
  suspended: boolean;
  posted_micros: bigint;
  held_micros: bigint;
  charge_carry_atto: bigint;
  value_carry_pico: bigint;
  budgets_begun: bigint;
}

const readPresent = (query: Query, ids: readonly string[]): Promise<readonly { readonly id: string }[]> =>
  ids.length === 0 ? noRows : query("SELECT id FROM account WHERE id = ANY($1::text[])", [ids]);

const readCalls = (query: Query, ids: readonly string[]): Promise<readonly CallRow[]> =>
  ids.length === 0
    ? noRows
    : query(`SELECT ${callColumns} FROM ${callsWithPrices} WHERE call.id = ANY($1::text[])`, [ids]);

export const readClaimed = (
  query: Query,
  wantedKeys: string | undefined,
): Promise<readonly (CallRow & ClaimRow)[]> =>
  wantedKeys === undefined
    ? noRows
    : query(
        `SELECT claim.key_hash, claim.fingerprint, ${callColumns} FROM ${callsWithPrices}
         JOIN claim ON claim.call_id = call.id
         JOIN json_to_recordset($1::text::json) AS wanted (account_id text, key_hash text)
           ON claim.account_id = wanted.account_id AND claim.key_hash = decode(wanted.key_hash, 'hex')`,
        [wantedKeys],
      );

const callColumns = `
  call.id, call.account_id, call.key_id, call.operation_id, call.model, held_micros, price_version, multiplier_ppm,
  budget_day_start_ms, grant_id, run_id, call.created_at_ms, state, outcome, value_micros, charged_micros,
  written_off_micros, settled_at_ms, progress, unit_prices`;
const callsWithPrices = "call JOIN price ON price.version = price_version";

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

const readTasks = (
  query: Query,
  { taskIds, taskCallIds }: WantedFacts,
  lock: Lock,
): Promise<readonly TaskRow[]> =>
  taskIds.length + taskCallIds.length === 0
    ? noRows
    : query(
        `SELECT id, call_id, key_id, fence, state, ended_at_ms FROM task
         WHERE id = ANY($1::text[]) OR call_id = ANY($2::text[]) ORDER BY id ${lockOf("FOR NO KEY UPDATE", lock)}`,
        [taskIds, taskCallIds],
      );

export interface TaskRow {
  id: string;
  call_id: string;
  key_id: string;
  fence: bigint;
  state: string;
  ended_at_ms: bigint | null;
}
