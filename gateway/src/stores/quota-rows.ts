import type { QuotaApplication } from "../ledger/quota-applications.ts";

export interface ApplicationRow {
  readonly id: string;
  readonly account_id: string;
  readonly key_id: string;
  readonly expected_rpm: bigint;
  readonly expected_tpm: bigint;
  readonly models: string;
  readonly endpoints: string;
  readonly use_case: string;
  readonly state: QuotaApplication["state"];
  readonly created_at_ms: bigint;
  readonly decided_at_ms: bigint | null;
}

export const applicationColumns = `
  id, account_id, key_id, expected_rpm, expected_tpm, models, endpoints, use_case, state, created_at_ms, decided_at_ms`;

export const applicationOf = (row: ApplicationRow): QuotaApplication => ({
  id: row.id,
  accountId: row.account_id,
  keyId: row.key_id,
  expectedRpm: Number(row.expected_rpm),
  expectedTpm: Number(row.expected_tpm),
  // Both lists were written from string lists, when the application was filed.
  models: JSON.parse(row.models) as string[],
  endpoints: JSON.parse(row.endpoints) as string[],
  useCase: row.use_case,
  state: row.state,
  createdAtMs: Number(row.created_at_ms),
  decidedAtMs: row.decided_at_ms === null ? undefined : Number(row.decided_at_ms),
});
