import {
  openApprovalsMax,
  type Approval,
  type ApprovalBook,
  type NewApproval,
} from "../../approvals/approvals.ts";
import {
  approvalOf,
  approvalsForgottenAtOnce,
  approvalsKeptMs,
  asksTheSame,
  type ApprovalRow,
  type ItemMarks,
  type ItemRow,
} from "../approval-rows.ts";
import type { Database } from "./server/database.ts";
import type { Query } from "./server/query.ts";

interface Id {
  readonly id: string;
}

/** Questions of an account are asked, answered and used up one after the other: its row is locked first. */
export function createPostgresApprovals(db: Database): ApprovalBook {
  return {
    open: (approval) => db.write((query) => open(query, approval)),
    find: (id, accountId) => find(db.read, id, accountId),
    decide: ({ id, accountId, decision, nowMs }) =>
      db.write(async (query) => {
        await query(sql.lockAccount, [accountId]);
        const decided = await query(sql.decide, [decision, nowMs, id, accountId]);
        if (decided.length > 0) await query(sql.dropArguments, [id]);
        return find(query, id, accountId);
      }),
  };
}

async function open(query: Query, approval: NewApproval): Promise<Approval> {
  const { accountId, keyId, grantId, createdAtMs } = approval;
  await query(sql.lockAccount, [accountId]);
  const waiting = await query<Id>(sql.waiting, [accountId, keyId, grantId ?? null, createdAtMs]);
  const same = await findSame(query, waiting, approval);
  if (same) await query(sql.prolong, [approval.expiresAtMs, same.id]);
  else {
    await forget(query, waiting.slice(0, Math.max(0, waiting.length - openApprovalsMax + 1)));
    await insert(query, approval);
  }
  // Last, when nothing is left to wait for: questions of others are locked from here on.
  await forget(
    query,
    await query<Id>(sql.forgotten, [createdAtMs - approvalsKeptMs, approvalsForgottenAtOnce]),
  );
  const id = same?.id ?? approval.id;
  const found = await find(query, id, accountId);
  if (!found) throw new Error(`The question ${id} was just written, and is not there.`);
  return found;
}

async function findSame(
  query: Query,
  waiting: readonly Id[],
  approval: NewApproval,
): Promise<Id | undefined> {
  if (waiting.length === 0) return undefined;
  const marks = await query<ItemMarks & { approval_id: string }>(sql.marks, [waiting.map(({ id }) => id)]);
  const marksOf = Map.groupBy(marks, (mark) => mark.approval_id);
  return waiting.find(({ id }) => asksTheSame(marksOf.get(id) ?? [], approval));
}

async function insert(query: Query, approval: NewApproval): Promise<void> {
  await query(sql.insert, [
    approval.id,
    approval.accountId,
    approval.keyId,
    approval.grantId ?? null,
    approval.asker,
    approval.createdAtMs,
    approval.expiresAtMs,
  ]);
  const items = approval.items.map((item, position) => ({
    position,
    operation_id: item.operationId,
    digest: Buffer.from(item.digest).toString("hex"),
    cap_micros: String(item.capMicros),
    expected_micros: String(item.expectedMicros),
    summary: item.summary,
    arguments: item.arguments,
    arguments_cut: item.argumentsCut,
  }));
  await query(sql.insertItems, [approval.id, JSON.stringify(items)]);
}

async function forget(query: Query, approvals: readonly Id[]): Promise<void> {
  if (approvals.length === 0) return;
  const ids = approvals.map(({ id }) => id);
  await query(sql.removeItems, [ids]);
  await query(sql.remove, [ids]);
}

/** One statement, so that the question and its calls are of one moment. */
async function find(query: Query, id: string, accountId: string): Promise<Approval | undefined> {
  const rows = await query<ApprovalRow & ItemRow>(sql.find, [id, accountId]);
  return rows[0] && approvalOf(rows[0], rows);
}

const sql = {
  lockAccount: "SELECT id FROM account WHERE id = $1 FOR NO KEY UPDATE",
  find: `SELECT id, account_id, key_id, grant_id, asker, created_at_ms, expires_at_ms, decision, decided_at_ms,
                operation_id, digest, cap_micros, expected_micros, summary, arguments, arguments_cut, call_id
         FROM approval JOIN approval_item ON approval_id = id WHERE id = $1 AND account_id = $2 ORDER BY position`,
  waiting: `SELECT id FROM approval
            WHERE account_id = $1 AND key_id = $2 AND grant_id IS NOT DISTINCT FROM $3 AND expires_at_ms > $4
                  AND decision IS NULL
            ORDER BY created_at_ms, id`,
  marks: `SELECT approval_id, digest, cap_micros, expected_micros FROM approval_item
          WHERE approval_id = ANY($1::text[]) ORDER BY approval_id, position`,
  // Where two clocks differ, the later one counts.
  prolong: "UPDATE approval SET expires_at_ms = greatest(expires_at_ms, $1) WHERE id = $2",
  insert: `INSERT INTO approval (id, account_id, key_id, grant_id, asker, created_at_ms, expires_at_ms)
           VALUES ($1, $2, $3, $4, $5, $6, $7)`,
  insertItems: `
    INSERT INTO approval_item (approval_id, position, operation_id, digest, cap_micros, expected_micros, summary,
                               arguments, arguments_cut)
    SELECT $1, position, operation_id, decode(digest, 'hex'), cap_micros, expected_micros, summary, arguments,
           arguments_cut
    FROM json_to_recordset($2::text::json) AS item (
      position bigint, operation_id text, digest text, cap_micros bigint, expected_micros bigint, summary text,
      arguments text, arguments_cut boolean)`,
  decide: `UPDATE approval SET decision = $1, decided_at_ms = $2
           WHERE id = $3 AND account_id = $4 AND decision IS NULL AND expires_at_ms > $2 RETURNING id`,
  // They may be long, and nobody reads them once the answer is given.
  dropArguments: "UPDATE approval_item SET arguments = summary WHERE approval_id = $1",
  forgotten: `SELECT id FROM approval WHERE expires_at_ms < $1
              ORDER BY expires_at_ms LIMIT $2 FOR UPDATE SKIP LOCKED`,
  removeItems: "DELETE FROM approval_item WHERE approval_id = ANY($1::text[])",
  remove: "DELETE FROM approval WHERE id = ANY($1::text[])",
} as const;
