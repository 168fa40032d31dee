import type { KeptAnswer, KeptAnswers } from "../../routing/kept-answers.ts";
import { idsForgottenBeside, others, ownOf } from "../kept-answer-rows.ts";
import type { Database } from "./server/database.ts";
import { hexOf } from "./server/json-rows.ts";
import type { Query } from "./server/query.ts";

export function createPostgresKeptAnswers(db: Database): KeptAnswers {
  return {
    // Kept twice it is kept once.
    keep: (answer, nowMs) => db.write((query) => keep(query, answer, nowMs), { evenInDoubt: true }),
    find: async (accountId, idHashes, nowMs) => {
      const rows = await db.read<FoundRow>(sql.find, [idHashes.map(hexOf), accountId, nowMs]);
      return rows.map(({ upstream, is_known: isKnown }) => {
        if (upstream !== null) return ownOf({ upstream });
        return isKnown ? others : undefined;
      });
    },
  };
}

interface FoundRow {
  /** Where the account's own is. */
  readonly upstream: string | null;
  readonly is_known: boolean;
}

async function keep(query: Query, answer: KeptAnswer, nowMs: number): Promise<void> {
  const { accountId, upstream, idHashes, untilMs } = answer;
  await query(sql.keep, [idHashes.map(hexOf), accountId, upstream, untilMs]);
  // Last, when nothing is left to wait for: the rows of others are locked from here on.
  await query(sql.forget, [nowMs, idHashes.length + idsForgottenBeside]);
}

const sql = {
  // In one order, so that two who keep the same ids do not wait for each other.
  keep: `
    INSERT INTO kept_answer (id_hash, account_id, upstream, until_ms)
    SELECT DISTINCT decode(hex, 'hex') AS id_hash, $2, $3, $4::bigint FROM unnest($1::text[]) AS hex ORDER BY id_hash
    ON CONFLICT (id_hash, account_id) DO UPDATE SET
      upstream = excluded.upstream, until_ms = greatest(kept_answer.until_ms, excluded.until_ms)`,
  forget: `
    WITH past AS MATERIALIZED (
      SELECT id_hash, account_id FROM kept_answer WHERE until_ms <= $1
      ORDER BY until_ms LIMIT $2 FOR UPDATE SKIP LOCKED
    )
    DELETE FROM kept_answer WHERE (id_hash, account_id) IN (SELECT id_hash, account_id FROM past)`,
  find: `
    SELECT own.upstream, EXISTS (
      SELECT FROM kept_answer WHERE id_hash = decode(wanted.hex, 'hex') AND until_ms > $3) AS is_known
    FROM unnest($1::text[]) WITH ORDINALITY AS wanted (hex, place)
    LEFT JOIN kept_answer AS own
      ON own.id_hash = decode(wanted.hex, 'hex') AND own.account_id = $2 AND own.until_ms > $3
    ORDER BY wanted.place`,
} as const;
