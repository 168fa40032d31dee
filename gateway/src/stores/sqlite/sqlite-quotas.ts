import type { Database } from "bun:sqlite";
import {
  openApplicationsMax,
  type Filed,
  type NewQuotaApplication,
  type QuotaApplication,
  type QuotaBook,
  type QuotaGrant,
} from "../../ledger/quota-applications.ts";
import { keptMsOf } from "../../ledger/idempotency-key.ts";
import { higherTier, type TierName } from "../../limits/tiers.ts";
import { applicationColumns, applicationOf, type ApplicationRow } from "../quota-rows.ts";
import type { EarlierCalls } from "./earlier-calls.ts";
import type { GroupCommit } from "./file/group-commit.ts";
import type { UnpaidClaims } from "./journal/unpaid-claims.ts";

export function createSqliteQuotas(
  db: Database,
  commits: GroupCommit,
  earlierCalls: EarlierCalls,
  unpaidClaims: UnpaidClaims,
): QuotaBook {
  const sql = prepare(db);

  const file = (application: NewQuotaApplication): Filed => {
    const { accountId, idempotency, createdAtMs } = application;
    const earlier = idempotency && earlierCalls.find(accountId, idempotency, createdAtMs);
    if (earlier) return { kind: "idempotency_conflict", earlier };
    if (Number(sql.countOpen.get(accountId)?.n ?? 0n) >= openApplicationsMax)
      return { kind: "too_many_open" };
    if (idempotency) sql.forgetKey.run(accountId, idempotency.keyHash, createdAtMs - keptMsOf(idempotency));
    sql.insert.run(
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
    );
    if (idempotency) unpaidClaims.note(accountId, idempotency.keyHash);
    return { kind: "filed", application: present(application.id) };
  };

  const approve = (id: string, grant: QuotaGrant, nowMs: number): QuotaApplication | undefined => {
    if (sql.decide.run("approved", nowMs, id).changes === 0) return undefined;
    const application = present(id);
    if (grant.tier) raiseTier(application.accountId, grant.tier);
    const { rpm, tpm, concurrency } = grant.limits ?? {};
    sql.grantLimits.run(rpm ?? null, tpm ?? null, concurrency ?? null, application.accountId);
    return application;
  };

  const raiseTier = (accountId: string, granted: TierName): void => {
    const current = sql.tierOf.get(accountId)?.tier ?? granted;
    sql.setTier.run(higherTier(current, granted), accountId);
  };

  const present = (id: string): QuotaApplication => {
    const row = sql.find.get(id);
    if (!row) throw new Error(`Application ${id} vanished inside its own transaction.`);
    return applicationOf(row);
  };

  return {
    file: (application) => commits.run(() => file(application)),
    list: async (state) => sql.list.all(state ?? null).map(applicationOf),
    approve: (id, grant, nowMs) => commits.run(() => approve(id, grant, nowMs)),
    deny: (id, nowMs) =>
      commits.run(() => (sql.decide.run("denied", nowMs, id).changes === 0 ? undefined : present(id))),
  };
}

function prepare(db: Database) {
  return {
    find: db.query<ApplicationRow, [string]>(
      `SELECT ${applicationColumns} FROM quota_application WHERE id = ?1`,
    ),
    list: db.query<ApplicationRow, [string | null]>(
      `SELECT ${applicationColumns} FROM quota_application WHERE ?1 IS NULL OR state = ?1 ORDER BY created_at_ms, id`,
    ),
    forgetKey: db.query<never, [string, Uint8Array, number]>(
      `UPDATE quota_application SET key_hash = NULL, fingerprint = NULL
       WHERE account_id = ?1 AND key_hash = ?2 AND created_at_ms <= ?3`,
    ),
    countOpen: db.query<{ n: bigint }, [string]>(
      "SELECT count(*) AS n FROM quota_application WHERE account_id = ?1 AND state = 'open'",
    ),
    insert: db.query<
      never,
      [
        id: string,
        accountId: string,
        keyId: string,
        expectedRpm: number,
        expectedTpm: number,
        models: string,
        endpoints: string,
        useCase: string,
        keyHash: Uint8Array | null,
        fingerprint: Uint8Array | null,
        createdAtMs: number,
      ]
    >(
      `INSERT INTO quota_application (id, account_id, key_id, expected_rpm, expected_tpm, models, endpoints,
                                      use_case, key_hash, fingerprint, state, created_at_ms)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'open', ?11)`,
    ),
    decide: db.query<never, [string, number, string]>(
      "UPDATE quota_application SET state = ?1, decided_at_ms = ?2 WHERE id = ?3 AND state = 'open'",
    ),
    tierOf: db.query<{ tier: TierName }, [string]>("SELECT tier FROM account WHERE id = ?1"),
    setTier: db.query<never, [string, string]>("UPDATE account SET tier = ?1 WHERE id = ?2"),
    grantLimits: db.query<never, [number | null, number | null, number | null, string]>(
      `UPDATE account SET rpm = coalesce(?1, rpm), tpm = coalesce(?2, tpm), concurrency = coalesce(?3, concurrency)
       WHERE id = ?4`,
    ),
  };
}
