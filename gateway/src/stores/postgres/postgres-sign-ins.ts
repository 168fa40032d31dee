import type { SignInRecord, SignInRecords } from "../../grants/sign-in-records.ts";
import { foundOf, recordsForgottenAtOnce, type RecordRow } from "../sign-in-rows.ts";
import type { Database } from "./server/database.ts";
import type { Query } from "./server/query.ts";

export function createPostgresSignIns(db: Database): SignInRecords {
  return {
    put: (record, nowMs) => db.write((query) => put(query, record, nowMs)),
    find: async (kind, idHash, nowMs) => {
      const [row] = await db.read<RecordRow>(sql.find, [kind, idHash, nowMs]);
      return row && foundOf(row);
    },
    consume: (kind, idHash, nowMs) =>
      db.write(async (query) => (await query(sql.consume, [nowMs, kind, idHash])).length > 0),
    remove: (kind, idHash) => db.write(async (query) => void (await query(sql.remove, [kind, idHash]))),
    extend: (kind, idHash, expiresAtMs) =>
      db.write(async (query) => (await query(sql.extend, [expiresAtMs, kind, idHash])).length > 0),
    keepUnused: (kind, most) => db.write(async (query) => void (await query(sql.keepUnused, [kind, most]))),
  };
}

async function put(query: Query, record: SignInRecord, nowMs: number): Promise<boolean> {
  // A revocation waits until the record is there for it to remove; or it was first, and the grant has ended.
  if (record.grantId !== undefined && (await query(sql.lockGrant, [record.grantId])).length === 0)
    return false;
  await query(sql.put, [
    record.kind,
    record.idHash,
    record.grantId ?? null,
    record.scope ?? null,
    record.audience ?? null,
    record.sealed,
    record.expiresAtMs,
  ]);
  // Last, when nothing is left to wait for: the rows of others are locked from here on.
  await query(sql.forget, [nowMs, recordsForgottenAtOnce]);
  return true;
}

const sql = {
  lockGrant: "SELECT id FROM oauth_grant WHERE id = $1 AND revoked_at_ms IS NULL FOR SHARE",
  put: `INSERT INTO sign_in_record (kind, id_hash, grant_id, scope, audience, sealed, expires_at_ms)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (kind, id_hash) DO UPDATE SET grant_id = excluded.grant_id, scope = excluded.scope,
          audience = excluded.audience, sealed = excluded.sealed, expires_at_ms = excluded.expires_at_ms`,
  find: "SELECT sealed, consumed_at_ms FROM sign_in_record WHERE kind = $1 AND id_hash = $2 AND expires_at_ms > $3",
  consume: `UPDATE sign_in_record SET consumed_at_ms = $1
            WHERE kind = $2 AND id_hash = $3 AND consumed_at_ms IS NULL RETURNING kind`,
  remove: "DELETE FROM sign_in_record WHERE kind = $1 AND id_hash = $2",
  extend: `UPDATE sign_in_record SET expires_at_ms = greatest(expires_at_ms, $1)
           WHERE kind = $2 AND id_hash = $3 RETURNING 1`,
  // What somebody else has in hand is being used, or forgotten already.
  keepUnused: `
    WITH surplus AS MATERIALIZED (
      SELECT id_hash FROM sign_in_record WHERE kind = $1 AND consumed_at_ms IS NULL
      ORDER BY expires_at_ms DESC, id_hash OFFSET $2
    ), unused AS MATERIALIZED (
      SELECT id_hash FROM sign_in_record
      WHERE kind = $1 AND consumed_at_ms IS NULL AND id_hash IN (SELECT id_hash FROM surplus)
      FOR UPDATE SKIP LOCKED
    )
    DELETE FROM sign_in_record WHERE kind = $1 AND id_hash IN (SELECT id_hash FROM unused)`,
  forget: `
    WITH past AS MATERIALIZED (
      SELECT kind, id_hash FROM sign_in_record WHERE expires_at_ms <= $1
      ORDER BY expires_at_ms LIMIT $2 FOR UPDATE SKIP LOCKED
    )
    DELETE FROM sign_in_record WHERE (kind, id_hash) IN (SELECT kind, id_hash FROM past)`,
} as const;
