import type { Database } from "bun:sqlite";
import { budgetSpan } from "../../keys/budget-window.ts";
import type { Key, KeyBook, KeyChange, KeyRotation, NewKey } from "../../keys/keys.ts";
import {
  credentialColumns,
  credentialOf,
  keyColumns,
  keyOf,
  writtenList,
  type CredentialRow,
  type KeyRow,
  type SecretRow,
} from "../key-rows.ts";
import type { BudgetDays } from "./budget-days.ts";
import type { PostedBooks } from "./journal/posted-books.ts";
import { sumBudget } from "./budget-rows.ts";
import type { GroupCommit } from "./file/group-commit.ts";

export function createSqliteKeys(
  db: Database,
  commits: GroupCommit,
  books: PostedBooks,
  budgetDays: BudgetDays,
): KeyBook {
  const sql = prepare(db);

  const find = (keyId: string): Key | undefined => {
    const row = sql.find.get(keyId);
    return row ? keyOf(row, sql.secrets.all(keyId)) : undefined;
  };

  const issue = (key: NewKey): Key | undefined => {
    if (!sql.accountExists.get(key.accountId)) return undefined;
    const { limitMicros = null, window = null } = key.budget ?? {};
    sql.insert.run(
      key.id,
      key.accountId,
      key.name,
      key.scope,
      limitMicros,
      window,
      key.nowMs,
      key.expiresAtMs ?? null,
      writtenList(key.allowedModels),
      writtenList(key.allowedOperations),
      key.budget ? 1 : 0,
    );
    sql.insertSecret.run(key.secretHash, key.id, key.last4, key.nowMs);
    return find(key.id);
  };

  const update = (keyId: string, change: KeyChange): Key | undefined => {
    const before = find(keyId);
    if (!before) return undefined;
    const budget = change.budget === undefined ? before.budget : change.budget;
    const expiresAtMs = change.expiresAtMs === undefined ? before.expiresAtMs : change.expiresAtMs;
    const { allowedModels = before.allowedModels, allowedOperations = before.allowedOperations } = change;
    sql.update.run(
      change.name ?? before.name,
      change.scope ?? before.scope,
      budget?.limitMicros ?? null,
      budget?.window ?? null,
      expiresAtMs ?? null,
      writtenList(allowedModels),
      writtenList(allowedOperations),
      keyId,
    );
    if (change.budget) budgetDays.begin(keyId);
    return find(keyId);
  };

  const rotate = (rotation: KeyRotation): Key | undefined => {
    const before = find(rotation.keyId);
    if (!before || before.revokedAtMs !== undefined) return undefined;
    sql.expireSecrets.run(rotation.graceEndsAtMs, rotation.keyId);
    sql.insertSecret.run(rotation.secretHash, rotation.keyId, rotation.last4, rotation.nowMs);
    return find(rotation.keyId);
  };

  return {
    issue: (key) => commits.run(() => issue(key)),
    find: async (keyId) => find(keyId),
    list: async (accountId) =>
      (accountId === undefined ? sql.listAll.all() : sql.listOfAccount.all(accountId)).map((row) =>
        keyOf(row, sql.secrets.all(row.id)),
      ),
    update: (keyId, change) => (change.budget ? books : commits).run(() => update(keyId, change)),
    rotate: (rotation) => commits.run(() => rotate(rotation)),
    revoke: (keyId, nowMs) =>
      commits.run(() => {
        sql.revoke.run(nowMs, keyId);
        return find(keyId);
      }),
    budgetUse: (keyId, window, nowMs) =>
      books.read(() => {
        const { startMs, endMs } = budgetSpan(window, nowMs);
        const row = sql.budgetUse.get(keyId, startMs, endMs);
        return { spentMicros: row?.spent_micros ?? 0n, heldMicros: row?.held_micros ?? 0n };
      }),
    findCredential: async (secretHash, nowMs) => {
      const row = sql.credential.get(secretHash, nowMs);
      return row ? credentialOf(row) : undefined;
    },
  };
}

function prepare(db: Database) {
  return {
    accountExists: db.query<{ id: string }, [string]>("SELECT id FROM account WHERE id = ?1"),
    find: db.query<KeyRow, [string]>(`SELECT ${keyColumns} FROM key WHERE id = ?1`),
    listAll: db.query<KeyRow, []>(`SELECT ${keyColumns} FROM key ORDER BY created_at_ms, id`),
    listOfAccount: db.query<KeyRow, [string]>(
      `SELECT ${keyColumns} FROM key WHERE account_id = ?1 ORDER BY created_at_ms, id`,
    ),
    secrets: db.query<SecretRow, [string]>(
      // When two were made in one millisecond, the one that does not end is the newer.
      `SELECT last4, created_at_ms, expires_at_ms FROM key_secret WHERE key_id = ?1
       ORDER BY created_at_ms DESC, expires_at_ms DESC NULLS FIRST`,
    ),
    insert: db.query<
      never,
      [
        id: string,
        accountId: string,
        name: string,
        scope: string,
        budgetMicros: bigint | null,
        budgetWindow: string | null,
        createdAtMs: number,
        expiresAtMs: number | null,
        allowedModels: string | null,
        allowedOperations: string | null,
        countsDays: number,
      ]
    >(
      `INSERT INTO key (id, account_id, name, scope, budget_micros, budget_window, created_at_ms, expires_at_ms,
                        allowed_models, allowed_operations, counts_days)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`,
    ),
    insertSecret: db.query<never, [Uint8Array, string, string, number]>(
      "INSERT INTO key_secret (hash, key_id, last4, created_at_ms) VALUES (?1, ?2, ?3, ?4)",
    ),
    update: db.query<
      never,
      [
        name: string,
        scope: string,
        budgetMicros: bigint | null,
        budgetWindow: string | null,
        expiresAtMs: number | null,
        allowedModels: string | null,
        allowedOperations: string | null,
        id: string,
      ]
    >(
      `UPDATE key SET name = ?1, scope = ?2, budget_micros = ?3, budget_window = ?4, expires_at_ms = ?5,
                      allowed_models = ?6, allowed_operations = ?7
       WHERE id = ?8`,
    ),
    expireSecrets: db.query<never, [number, string]>(
      "UPDATE key_secret SET expires_at_ms = min(coalesce(expires_at_ms, ?1), ?1) WHERE key_id = ?2",
    ),
    revoke: db.query<never, [number, string]>(
      "UPDATE key SET revoked_at_ms = coalesce(revoked_at_ms, ?1) WHERE id = ?2",
    ),
    budgetUse: db.query<{ spent_micros: bigint; held_micros: bigint }, [string, number, number]>(sumBudget),
    credential: db.query<CredentialRow, [Uint8Array, number]>(
      `SELECT ${credentialColumns}
       FROM key_secret JOIN key ON key.id = key_secret.key_id JOIN account ON account.id = key.account_id
       WHERE key_secret.hash = ?1 AND (key_secret.expires_at_ms IS NULL OR key_secret.expires_at_ms > ?2)`,
    ),
  };
}
