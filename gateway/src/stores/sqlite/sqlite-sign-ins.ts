import type { Database } from "bun:sqlite";
import type { SignInRecord, SignInRecords } from "../../grants/sign-in-records.ts";
import { foundOf, recordsForgottenAtOnce, type RecordRow } from "../sign-in-rows.ts";
import type { GroupCommit } from "./file/group-commit.ts";

export function createSqliteSignIns(db: Database, commits: GroupCommit): SignInRecords {
  const sql = prepare(db);

  const put = (record: SignInRecord, nowMs: number): boolean => {
    sql.forget.run(nowMs, recordsForgottenAtOnce);
    if (record.grantId !== undefined && sql.grantLives.get(record.grantId) === null) return false;
    sql.put.run(
      record.kind,
      record.idHash,
      record.grantId ?? null,
      record.scope ?? null,
      record.audience ?? null,
      record.sealed,
      record.expiresAtMs,
    );
    return true;
  };

  return {
    put: (record, nowMs) => commits.run(() => put(record, nowMs)),
    find: async (kind, idHash, nowMs) => {
      const row = sql.find.get(kind, idHash, nowMs);
      return row ? foundOf(row) : undefined;
    },
    consume: (kind, idHash, nowMs) => commits.run(() => sql.consume.run(nowMs, kind, idHash).changes > 0),
    remove: (kind, idHash) => commits.run(() => void sql.remove.run(kind, idHash)),
    extend: (kind, idHash, expiresAtMs) =>
      commits.run(() => sql.extend.run(expiresAtMs, kind, idHash).changes > 0),
    keepUnused: (kind, most) => commits.run(() => void sql.keepUnused.run(kind, most)),
  };
}

function prepare(db: Database) {
  return {
    grantLives: db.query<{ id: string }, [string]>(
      "SELECT id FROM oauth_grant WHERE id = ?1 AND revoked_at_ms IS NULL",
    ),
    put: db.query<
      never,
      [
        kind: string,
        idHash: Uint8Array,
        grantId: string | null,
        scope: string | null,
        audience: string | null,
        sealed: Uint8Array,
        expiresAtMs: number,
      ]
    >(
      `INSERT INTO sign_in_record (kind, id_hash, grant_id, scope, audience, sealed, expires_at_ms)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
       ON CONFLICT DO UPDATE SET grant_id = ?3, scope = ?4, audience = ?5, sealed = ?6, expires_at_ms = ?7`,
    ),
    find: db.query<RecordRow, [string, Uint8Array, number]>(
      "SELECT sealed, consumed_at_ms FROM sign_in_record WHERE kind = ?1 AND id_hash = ?2 AND expires_at_ms > ?3",
    ),
    consume: db.query<never, [number, string, Uint8Array]>(
      `UPDATE sign_in_record SET consumed_at_ms = ?1
       WHERE kind = ?2 AND id_hash = ?3 AND consumed_at_ms IS NULL`,
    ),
    remove: db.query<never, [string, Uint8Array]>(
      "DELETE FROM sign_in_record WHERE kind = ?1 AND id_hash = ?2",
    ),
    extend: db.query<never, [number, string, Uint8Array]>(
      "UPDATE sign_in_record SET expires_at_ms = max(expires_at_ms, ?1) WHERE kind = ?2 AND id_hash = ?3",
    ),
    keepUnused: db.query<never, [string, number]>(
      `DELETE FROM sign_in_record WHERE kind = ?1 AND id_hash IN (
         SELECT id_hash FROM sign_in_record WHERE kind = ?1 AND consumed_at_ms IS NULL
         ORDER BY expires_at_ms DESC LIMIT -1 OFFSET ?2)`,
    ),
    forget: db.query<never, [number, number]>(
      `DELETE FROM sign_in_record WHERE (kind, id_hash) IN (
         SELECT kind, id_hash FROM sign_in_record WHERE expires_at_ms <= ?1 LIMIT ?2)`,
    ),
  };
}
