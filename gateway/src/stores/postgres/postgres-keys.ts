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
import { beginBudgetDays } from "./budget-days.ts";
import type { Database } from "./server/database.ts";
import type { Query } from "./server/query.ts";

interface WholeKeyRow extends KeyRow {
  /** JSON, so that a key and its secrets are of one moment. */
  readonly secrets: string | null;
}

export function createPostgresKeys(db: Database): KeyBook {
  const issue = async (query: Query, key: NewKey): Promise<Key | undefined> => {
    const [account] = await query("SELECT id FROM account WHERE id = $1", [key.accountId]);
    if (!account) return undefined;
    await query(insert, [
      key.id,
      key.accountId,
      key.name,
      key.scope,
      key.budget?.limitMicros ?? null,
      key.budget?.window ?? null,
      key.nowMs,
      key.expiresAtMs ?? null,
      writtenList(key.allowedModels),
      writtenList(key.allowedOperations),
      key.budget !== undefined,
    ]);
    await query(insertSecret, [key.secretHash, key.id, key.last4, key.nowMs]);
    return findKey(query, key.id);
  };

  const change = async (query: Query, keyId: string, wanted: KeyChange): Promise<Key | undefined> => {
    if (wanted.budget) await lockAccountOf(query, keyId);
    const before = await findToChange(query, keyId);
    if (!before) return undefined;
    const budget = wanted.budget === undefined ? before.budget : wanted.budget;
    const expiresAtMs = wanted.expiresAtMs === undefined ? before.expiresAtMs : wanted.expiresAtMs;
    const { allowedModels = before.allowedModels, allowedOperations = before.allowedOperations } = wanted;
    await query(update, [
      wanted.name ?? before.name,
      wanted.scope ?? before.scope,
      budget?.limitMicros ?? null,
      budget?.window ?? null,
      expiresAtMs ?? null,
      writtenList(allowedModels),
      writtenList(allowedOperations),
      keyId,
    ]);
    if (wanted.budget) await beginBudgetDays(query, keyId);
    return findKey(query, keyId);
  };

  const rotate = async (query: Query, rotation: KeyRotation): Promise<Key | undefined> => {
    const { keyId, secretHash, last4, nowMs, graceEndsAtMs } = rotation;
    const before = await findToChange(query, keyId);
    if (!before || before.revokedAtMs !== undefined) return undefined;
    await query(expireSecrets, [graceEndsAtMs, keyId]);
    await query(insertSecret, [secretHash, keyId, last4, nowMs]);
    return findKey(query, keyId);
  };

  return {
    issue: (key) => db.writePatiently((query) => issue(query, key)),
    find: (keyId) => findKey(db.read, keyId),
    list: async (accountId) => {
      const rows =
        accountId === undefined
          ? await db.readPatiently<WholeKeyRow>(listAll)
          : await db.readPatiently<WholeKeyRow>(listOfAccount, [accountId]);
      return rows.map(wholeKeyOf);
    },
    update: (keyId, wanted) => db.writePatiently((query) => change(query, keyId, wanted)),
    rotate: (rotation) => db.writePatiently((query) => rotate(query, rotation)),
    revoke: (keyId, nowMs) =>
      db.writePatiently(async (query) => {
        await query(revoke, [nowMs, keyId]);
        return findKey(query, keyId);
      }),
    budgetUse: async (keyId, window, nowMs) => {
      const { startMs, endMs } = budgetSpan(window, nowMs);
      const [use] = await db.read<BudgetRow>(sumBudget, [keyId, startMs, endMs]);
      return { spentMicros: use?.spent_micros ?? 0n, heldMicros: use?.held_micros ?? 0n };
    },
    findCredential: async (secretHash, nowMs) => {
      const [row] = await db.read<CredentialRow>(credential, [secretHash, nowMs]);
      return row && credentialOf(row);
    },
  };
}

/** Locked before the key: everybody who locks both does so in this order. */
const lockAccountOf = (query: Query, keyId: string): Promise<unknown> =>
  query("SELECT id FROM account WHERE id = (SELECT account_id FROM key WHERE id = $1) FOR NO KEY UPDATE", [
    keyId,
  ]);

/** Whoever changes a key by what it was waits for whoever changes it now, so that no rotation outlives a revocation. */
async function findToChange(query: Query, keyId: string): Promise<Key | undefined> {
  await query("SELECT id FROM key WHERE id = $1 FOR NO KEY UPDATE", [keyId]);
  // Only a statement that begins under the lock sees the secrets that the previous holder wrote.
  return findKey(query, keyId);
}

async function findKey(query: Query, keyId: string): Promise<Key | undefined> {
  const [row] = await query<WholeKeyRow>(find, [keyId]);
  return row && wholeKeyOf(row);
}

// Written by the statement below, from the columns of this very type.
const wholeKeyOf = (row: WholeKeyRow): Key => keyOf(row, JSON.parse(row.secrets ?? "[]") as SecretRow[]);

/** When several secrets were made in the same millisecond, the one that was not rotated is the newest. */
const wholeKey = `
  SELECT ${keyColumns},
         (SELECT json_agg(secret ORDER BY created_at_ms DESC, expires_at_ms DESC NULLS FIRST)::text
          FROM (SELECT last4, created_at_ms, expires_at_ms FROM key_secret WHERE key_id = key.id) AS secret) AS secrets
  FROM key`;

const find = `${wholeKey} WHERE id = $1`;

const listAll = `${wholeKey} ORDER BY created_at_ms, id`;

const listOfAccount = `${wholeKey} WHERE account_id = $1 ORDER BY created_at_ms, id`;

const insert = `
  INSERT INTO key (id, account_id, name, scope, budget_micros, budget_window, created_at_ms, expires_at_ms,
                   allowed_models, allowed_operations, counts_days)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`;

const insertSecret = "INSERT INTO key_secret (hash, key_id, last4, created_at_ms) VALUES ($1, $2, $3, $4)";

const update = `
  UPDATE key SET name = $1, scope = $2, budget_micros = $3, budget_window = $4, expires_at_ms = $5,
                 allowed_models = $6, allowed_operations = $7
  WHERE id = $8`;

/** The earlier of two ends, and the only one where there was none. */
const expireSecrets = "UPDATE key_secret SET expires_at_ms = least(expires_at_ms, $1) WHERE key_id = $2";

const revoke = "UPDATE key SET revoked_at_ms = coalesce(revoked_at_ms, $1) WHERE id = $2";

interface BudgetRow {
  readonly spent_micros: bigint;
  readonly held_micros: bigint;
}

/** A window is the sum of its days. */
const sumBudget = `
  SELECT coalesce(sum(spent_micros), 0)::bigint AS spent_micros, coalesce(sum(held_micros), 0)::bigint AS held_micros
  FROM budget WHERE key_id = $1 AND day_start_ms >= $2 AND day_start_ms < $3`;

const credential = `
  SELECT ${credentialColumns}
  FROM key_secret JOIN key ON key.id = key_secret.key_id JOIN account ON account.id = key.account_id
  WHERE key_secret.hash = $1 AND (key_secret.expires_at_ms IS NULL OR key_secret.expires_at_ms > $2)`;
