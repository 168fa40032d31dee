import type { Database } from "bun:sqlite";
import {
  openApprovalsMax,
  type Approval,
  type ApprovalBook,
  type ApprovalClaim,
  type ApprovalDenial,
  type NewApproval,
} from "../../approvals/approvals.ts";
import { checkApproval, type ApprovalUse } from "../../approvals/check-approval.ts";
import {
  approvalOf,
  approvalsForgottenAtOnce,
  approvalsKeptMs,
  asksTheSame,
  type ApprovalRow,
  type ItemMarks,
  type ItemRow,
} from "../approval-rows.ts";
import type { GroupCommit } from "./file/group-commit.ts";

export function createSqliteApprovals(db: Database, commits: GroupCommit): ApprovalBook {
  const sql = prepare(db);

  const find = (id: string, accountId: string): Approval | undefined => {
    const row = sql.find.get(id, accountId);
    return row ? approvalOf(row, sql.items.all(id)) : undefined;
  };

  const mustFind = (id: string, accountId: string): Approval => {
    const found = find(id, accountId);
    if (!found) throw new Error(`The question ${id} was just written, and is not there.`);
    return found;
  };

  const forget = ({ id }: { readonly id: string }): void => {
    sql.removeItems.run(id);
    sql.remove.run(id);
  };

  const open = (approval: NewApproval): Approval => {
    sql.forgotten.all(approval.createdAtMs - approvalsKeptMs, approvalsForgottenAtOnce).forEach(forget);
    const { accountId, keyId, grantId, createdAtMs } = approval;
    const waiting = sql.waiting.all(accountId, keyId, grantId ?? null, createdAtMs);
    const same = waiting.find(({ id }) => asksTheSame(sql.marks.all(id), approval));
    if (same) {
      sql.prolong.run(approval.expiresAtMs, same.id);
      return mustFind(same.id, accountId);
    }
    waiting.slice(0, Math.max(0, waiting.length - openApprovalsMax + 1)).forEach(forget);
    sql.insert.run(
      approval.id,
      approval.accountId,
      approval.keyId,
      approval.grantId ?? null,
      approval.asker,
      approval.createdAtMs,
      approval.expiresAtMs,
    );
    approval.items.forEach((item, position) => {
      sql.insertItem.run(
        approval.id,
        position,
        item.operationId,
        item.digest,
        item.capMicros,
        item.expectedMicros,
        item.summary,
        item.arguments,
        item.argumentsCut,
      );
    });
    return mustFind(approval.id, accountId);
  };

  return {
    open: (approval) => commits.run(() => open(approval)),
    find: async (id, accountId) => find(id, accountId),
    decide: ({ id, accountId, decision, nowMs }) =>
      commits.run(() => {
        const decided = sql.decide.run(decision, nowMs, id, accountId);
        // Nobody reads them once the answer is given, and they may be long.
        if (decided.changes > 0) sql.dropArguments.run(id);
        return find(id, accountId);
      }),
  };
}

/**
 * Uses approvals up. Runs inside the ledger's transaction: `check` says why a claim does not allow the call, `use` binds
 * the item to the call that was just held, and `free` gives back what the call has.
 */
export interface ApprovalUses {
  readonly check: (claim: ApprovalClaim, use: ApprovalUse) => ApprovalDenial | undefined;
  readonly use: (claim: ApprovalClaim, callId: string) => void;
  readonly free: (approvalId: string, callId: string) => void;
}

export function prepareApprovalUses(db: Database): ApprovalUses {
  const sql = prepare(db);
  return {
    check: (claim, use) => {
      const row = sql.find.get(claim.id, use.accountId);
      return checkApproval(row ? approvalOf(row, sql.items.all(claim.id)) : undefined, claim, use);
    },
    use: (claim, callId) => {
      if (sql.use.run(callId, claim.id, claim.digest).changes !== 1) {
        throw new Error(`The approval ${claim.id} was checked, but is not there to be used.`);
      }
    },
    free: (approvalId, callId) => void sql.free.run(approvalId, callId),
  };
}

function prepare(db: Database) {
  return {
    find: db.query<ApprovalRow, [string, string]>(
      `SELECT id, account_id, key_id, grant_id, asker, created_at_ms, expires_at_ms, decision, decided_at_ms
       FROM approval WHERE id = ?1 AND account_id = ?2`,
    ),
    items: db.query<ItemRow, [string]>(
      `SELECT operation_id, digest, cap_micros, expected_micros, summary, arguments, arguments_cut, call_id
       FROM approval_item WHERE approval_id = ?1 ORDER BY position`,
    ),
    waiting: db.query<{ id: string }, [string, string, string | null, number]>(
      `SELECT id FROM approval
       WHERE account_id = ?1 AND key_id = ?2 AND grant_id IS ?3 AND expires_at_ms > ?4 AND decision IS NULL
       ORDER BY created_at_ms, id`,
    ),
    marks: db.query<ItemMarks, [string]>(
      "SELECT digest, cap_micros, expected_micros FROM approval_item WHERE approval_id = ?1 ORDER BY position",
    ),
    prolong: db.query<never, [number, string]>("UPDATE approval SET expires_at_ms = ?1 WHERE id = ?2"),
    insert: db.query<
      never,
      [
        id: string,
        accountId: string,
        keyId: string,
        grantId: string | null,
        asker: string,
        createdAtMs: number,
        expiresAtMs: number,
      ]
    >(
      `INSERT INTO approval (id, account_id, key_id, grant_id, asker, created_at_ms, expires_at_ms)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`,
    ),
    insertItem: db.query<
      never,
      [
        approvalId: string,
        position: number,
        operationId: string,
        digest: Uint8Array,
        capMicros: bigint,
        expectedMicros: bigint,
        summary: string,
        arguments: string,
        argumentsCut: boolean,
      ]
    >(
      `INSERT INTO approval_item (approval_id, position, operation_id, digest, cap_micros, expected_micros, summary,
                                  arguments, arguments_cut)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`,
    ),
    decide: db.query<never, [string, number, string, string]>(
      `UPDATE approval SET decision = ?1, decided_at_ms = ?2
       WHERE id = ?3 AND account_id = ?4 AND decision IS NULL AND expires_at_ms > ?2`,
    ),
    dropArguments: db.query<never, [string]>(
      "UPDATE approval_item SET arguments = summary WHERE approval_id = ?1",
    ),
    use: db.query<never, [string, string, Uint8Array]>(
      `UPDATE approval_item SET call_id = ?1 WHERE approval_id = ?2 AND position = (
         SELECT min(position) FROM approval_item WHERE approval_id = ?2 AND digest = ?3 AND call_id IS NULL)`,
    ),
    free: db.query<never, [string, string]>(
      "UPDATE approval_item SET call_id = NULL WHERE approval_id = ?1 AND call_id = ?2",
    ),
    forgotten: db.query<{ id: string }, [number, number]>(
      "SELECT id FROM approval WHERE expires_at_ms < ?1 ORDER BY expires_at_ms LIMIT ?2",
    ),
    removeItems: db.query<never, [string]>("DELETE FROM approval_item WHERE approval_id = ?1"),
    remove: db.query<never, [string]>("DELETE FROM approval WHERE id = ?1"),
  };
}
