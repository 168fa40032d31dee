import { AllowedNames } from "../keys/allowed-names.ts";
import type { Budget, BudgetWindow, Credential, Key, KeyScope } from "../keys/keys.ts";
import type { TierName } from "../limits/tiers.ts";
import { grantedLimitsOf } from "./granted-limits.ts";

export interface KeyRow {
  readonly id: string;
  readonly account_id: string;
  readonly name: string;
  readonly scope: KeyScope;
  readonly budget_micros: bigint | null;
  readonly budget_window: BudgetWindow | null;
  readonly allowed_models: string | null;
  readonly allowed_operations: string | null;
  readonly created_at_ms: bigint;
  readonly expires_at_ms: bigint | null;
  readonly revoked_at_ms: bigint | null;
}

export interface SecretRow {
  readonly last4: string;
  readonly created_at_ms: bigint | number;
  readonly expires_at_ms: bigint | number | null;
}

export interface CredentialRow {
  readonly key_id: string;
  readonly account_id: string;
  readonly scope: KeyScope;
  readonly tier: TierName;
  readonly plan_multiplier_ppm: bigint;
  /** SQLite says it with a number. */
  readonly suspended: boolean | bigint;
  readonly revoked_at_ms: bigint | null;
  readonly expires_at_ms: bigint | null;
  readonly budget_micros: bigint | null;
  readonly budget_window: BudgetWindow | null;
  readonly allowed_models: string | null;
  readonly allowed_operations: string | null;
  readonly rpm: bigint | null;
  readonly tpm: bigint | null;
  readonly concurrency: bigint | null;
}

export const keyColumns = `
  id, account_id, name, scope, budget_micros, budget_window, allowed_models, allowed_operations, created_at_ms,
  expires_at_ms, revoked_at_ms`;

/** The columns of a credential, from `key` joined with its `account`. */
export const credentialColumns = `
  key.id AS key_id, key.account_id, key.scope, account.tier, account.plan_multiplier_ppm, account.suspended,
  key.revoked_at_ms, key.expires_at_ms, key.budget_micros, key.budget_window, key.allowed_models, key.allowed_operations,
  account.rpm, account.tpm, account.concurrency`;

export const keyOf = (row: KeyRow, secrets: readonly SecretRow[]): Key => ({
  id: row.id,
  accountId: row.account_id,
  name: row.name,
  scope: row.scope,
  budget: budgetOf(row),
  allowedModels: listOf(row.allowed_models),
  allowedOperations: listOf(row.allowed_operations),
  createdAtMs: Number(row.created_at_ms),
  expiresAtMs: numberOf(row.expires_at_ms),
  revokedAtMs: numberOf(row.revoked_at_ms),
  secrets: secrets.map((secret) => ({
    last4: secret.last4,
    createdAtMs: Number(secret.created_at_ms),
    expiresAtMs: numberOf(secret.expires_at_ms),
  })),
});

export const credentialOf = (row: CredentialRow): Credential => ({
  keyId: row.key_id,
  accountId: row.account_id,
  scope: row.scope,
  tier: row.tier,
  planMultiplierPpm: row.plan_multiplier_ppm,
  suspended: Boolean(row.suspended),
  revoked: row.revoked_at_ms !== null,
  expiresAtMs: numberOf(row.expires_at_ms),
  budget: budgetOf(row),
  allowedModels: allowedOf(row.allowed_models),
  allowedOperations: allowedOf(row.allowed_operations),
  grantedLimits: grantedLimitsOf(row),
  grant: undefined,
});

const budgetOf = (row: Pick<KeyRow, "budget_micros" | "budget_window">): Budget | undefined =>
  row.budget_micros === null || row.budget_window === null
    ? undefined
    : { limitMicros: row.budget_micros, window: row.budget_window };

export const writtenList = (patterns: readonly string[] | null | undefined): string | null =>
  patterns ? JSON.stringify(patterns) : null;

// Both lists were written from string lists by `writtenList`; the schema lets no other than a list in.
const listOf = (written: string | null): string[] | undefined =>
  written === null ? undefined : (JSON.parse(written) as string[]);

function allowedOf(written: string | null): AllowedNames | undefined {
  const patterns = listOf(written);
  return patterns && new AllowedNames(patterns);
}

const numberOf = (value: bigint | number | null): number | undefined =>
  value === null ? undefined : Number(value);
