import { keptMsOf } from "../../ledger/idempotency-key.ts";
import {
  openApplicationsMax,
  type Filed,
  type NewQuotaApplication,
  type QuotaApplication,
  type QuotaBook,
  type QuotaGrant,
} from "../../ledger/quota-applications.ts";
import { higherTier, type TierName } from "../../limits/tiers.ts";
import { applicationColumns, applicationOf, type ApplicationRow } from "../quota-rows.ts";
import type { Database } from "./server/database.ts";
import { findEarlier } from "./ledger/find-earlier.ts";
import type { Query } from "./server/query.ts";

export function createPostgresQuotas(db: Database): QuotaBook {
  const file = async (query: Query, application: NewQuotaApplication): Promise<Filed> => {
    const { accountId, idempotency, createdAtMs } = application;
    // Applications of an account are filed one after the other: each has to count those before it. Nobody else takes an
    // idempotency key of the account meanwhile.
    await query("SELECT id FROM account WHERE id = $1 FOR NO KEY UPDATE", [accountId]);
    if (idempotency) {
      const earlier = await findEarlier(query, accountId, idempotency, createdAtMs);
      if (earlier) return { kind: "idempotency_conflict", earlier };
      await query(forgetKey, [accountId, idempotency.keyHash, createdAtMs - keptMsOf(idempotency)]);
    }
    const [open] = await query<{ n: bigint }>(countOpen, [accountId]);
    if (Number(open?.n ?? 0n) >= openApplicationsMax) return { kind: "too_many_open" };
    const [row] = await query<ApplicationRow>(insert, [
      application.id,
      accountId,
      application.keyId,
      application.expectedRpm,
      application.expectedTpm,
      JSON.stringify(application.models),
      JSON.stringify(application.endpoints),
      application.useCase,
      idempotency?.keyHash ?? null,
      idempotency?.fingerprint ?? null,
      createdAtMs,
    ]);
    if (!row) throw new Error(`Application ${application.id} vanished inside its own transaction.`);
    return { kind: "filed", application: applicationOf(row) };
  };

  const approve = async (
    query: Query,
    id: string,
    grant: QuotaGrant,
    nowMs: number,
  ): Promise<QuotaApplication | undefined> => {
    // The account first, as everywhere: whoever files has it while they write to applications.
    const [account] = await query<{ tier: TierName }>(lockAccountOf, [id]);
    const application = await decide(query, "approved", id, nowMs);
    if (!application) return undefined;
    const { rpm, tpm, concurrency } = grant.limits ?? {};
    await query(grantTierAndLimits, [
      account && grant.tier ? higherTier(account.tier, grant.tier) : null,
      rpm ?? null,
      tpm ?? null,
      concurrency ?? null,
      application.accountId,
    ]);
    return application;
  };

  return {
    file: (application) => db.write((query) => file(query, application)),
    list: async (state) => (await db.readPatiently<ApplicationRow>(list, [state ?? null])).map(applicationOf),
    approve: (id, grant, nowMs) => db.writePatiently((query) => approve(query, id, grant, nowMs)),
    deny: (id, nowMs) => db.writePatiently((query) => decide(query, "denied", id, nowMs)),
  };
}

/** When two decide at once, the second finds it decided. */
async function decide(
  query: Query,
  decision: "approved" | "denied",
  id: string,
  nowMs: number,
): Promise<QuotaApplication | undefined> {
  const [row] = await query<ApplicationRow>(decideOpen, [decision, nowMs, id]);
  return row && applicationOf(row);
}

const list = `
  SELECT ${applicationColumns} FROM quota_application WHERE $1::text IS NULL OR state = $1 ORDER BY created_at_ms, id`;

const forgetKey = `
  UPDATE quota_application SET key_hash = NULL, fingerprint = NULL
  WHERE account_id = $1 AND key_hash = $2 AND created_at_ms <= $3`;

const countOpen = "SELECT count(*) AS n FROM quota_application WHERE account_id = $1 AND state = 'open'";

const insert = `
  INSERT INTO quota_application (id, account_id, key_id, expected_rpm, expected_tpm, models, endpoints, use_case,
                                 key_hash, fingerprint, state, created_at_ms)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'open', $11)
  RETURNING ${applicationColumns}`;

const lockAccountOf = `
  SELECT account.tier FROM quota_application JOIN account ON account.id = quota_application.account_id
  WHERE quota_application.id = $1 FOR NO KEY UPDATE OF account`;

const decideOpen = `
  UPDATE quota_application SET state = $1, decided_at_ms = $2 WHERE id = $3 AND state = 'open'
  RETURNING ${applicationColumns}`;

const grantTierAndLimits = `
  UPDATE account SET tier = coalesce($1, tier), rpm = coalesce($2, rpm), tpm = coalesce($3, tpm),
                     concurrency = coalesce($4, concurrency)
  WHERE id = $5`;
