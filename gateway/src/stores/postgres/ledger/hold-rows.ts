// What holds alone are decided by, besides their accounts: who has their idempotency keys, and how their bounds stand.

import { budgetSpan } from "../../../keys/budget-window.ts";
import type { WantedHold } from "../../../ledger/ledger.ts";
import type { UnpaidClaimRow } from "../../unpaid-claims.ts";
import { hexOf, jsonOf } from "../server/json-rows.ts";
import { noRows, type Query } from "../server/query.ts";

/** The idempotency keys of the holds as a table; undefined when none has one. */
export function wantedKeysOf(
  holds: readonly Pick<WantedHold, "accountId" | "idempotency">[],
): string | undefined {
  const keys = holds.flatMap(({ accountId, idempotency }) =>
    idempotency ? { account_id: accountId, key_hash: hexOf(idempotency.keyHash) } : [],
  );
  return keys.length === 0 ? undefined : jsonOf(keys);
}

export interface ClaimRow {
  key_hash: Uint8Array;
  fingerprint: Uint8Array;
}

export const readUnpaidClaims = (
  query: Query,
  wantedKeys: string | undefined,
): Promise<readonly UnpaidRow[]> =>
  wantedKeys === undefined
    ? noRows
    : query(
        `SELECT found.* FROM json_to_recordset($1::text::json) AS wanted (account_id text, key_hash text), LATERAL (
           SELECT account_id, key_hash, id, fingerprint, expires_at_ms AS ended_at_ms FROM link_attempt
           WHERE account_id = wanted.account_id AND key_hash = decode(wanted.key_hash, 'hex') UNION ALL
           SELECT account_id, key_hash, id, fingerprint, created_at_ms FROM quota_application
           WHERE account_id = wanted.account_id AND key_hash = decode(wanted.key_hash, 'hex')) AS found`,
        [wantedKeys],
      );

export interface UnpaidRow extends UnpaidClaimRow {
  account_id: string;
  key_hash: Uint8Array;
}

export function readBudgets(query: Query, holds: readonly WantedHold[]): Promise<readonly WindowRow[]> {
  const windows = windowsOf(holds);
  if (windows.length === 0) return noRows;
  return query(
    `SELECT wanted.key_id, wanted.start_ms, wanted.end_ms, coalesce(sum(spent_micros), 0)::bigint AS spent_micros,
            coalesce(sum(held_micros), 0)::bigint AS held_micros
     FROM json_to_recordset($1::text::json) AS wanted (key_id text, start_ms bigint, end_ms bigint)
     LEFT JOIN budget ON budget.key_id = wanted.key_id
       AND budget.day_start_ms >= wanted.start_ms AND budget.day_start_ms < wanted.end_ms
     GROUP BY 1, 2, 3`,
    [jsonOf(windows)],
  );
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

export interface BoundRow {
  spent_micros: bigint;
  held_micros: bigint;
}

export interface WindowRow extends BoundRow {
  key_id: string;
  start_ms: bigint;
  end_ms: bigint;
}

/** Those that nobody has revoked. */
export const readGrants = (
  query: Query,
  ids: readonly string[],
  forShare: string,
): Promise<readonly GrantRow[]> =>
  ids.length === 0
    ? noRows
    : query(
        `SELECT id, expires_at_ms FROM oauth_grant WHERE id = ANY($1::text[]) AND revoked_at_ms IS NULL
         ORDER BY id ${forShare}`,
        [ids],
      );

export interface GrantRow {
  id: string;
  expires_at_ms: bigint;
}

export const readGrantDays = (query: Query, grantIds: readonly string[]): Promise<readonly GrantDayRow[]> =>
  grantIds.length === 0
    ? noRows
    : query(
        "SELECT grant_id, day_start_ms, spent_micros, held_micros FROM grant_day WHERE grant_id = ANY($1::text[])",
        [grantIds],
      );

export interface GrantDayRow extends BoundRow {
  grant_id: string;
  day_start_ms: bigint;
}

/** How many tasks are open of the keys that want to begin one. */
export function countOpenTasks(query: Query, holds: readonly WantedHold[]): Promise<readonly OpenTasksRow[]> {
  const keyIds = holds.flatMap(({ task, keyId }) => (task ? keyId : []));
  if (keyIds.length === 0) return noRows;
  return query(
    `SELECT key_id, count(*) AS open FROM task
     WHERE key_id = ANY($1::text[]) AND forget_at_ms IS NULL AND state <> 'LOST' GROUP BY 1`,
    [keyIds],
  );
}

export interface OpenTasksRow {
  key_id: string;
  open: bigint;
}

export function readApprovalItems(
  query: Query,
  holds: readonly WantedHold[],
  forUpdate: string,
): Promise<readonly ApprovalItemRow[]> {
  const ids = holds.flatMap(({ approval }) => approval?.id ?? []);
  if (ids.length === 0) return noRows;
  return query(
    `SELECT approval.id, account_id, key_id, grant_id, decision, expires_at_ms, position, digest, cap_micros, call_id
     FROM approval JOIN approval_item ON approval_id = approval.id
     WHERE approval.id = ANY($1::text[]) ORDER BY approval.id, position ${forUpdate}`,
    [ids],
  );
}

export interface ApprovalItemRow {
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
