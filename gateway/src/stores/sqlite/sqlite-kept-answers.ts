import type { Database } from "bun:sqlite";
import type { FoundKept, KeptAnswer, KeptAnswers } from "../../routing/kept-answers.ts";
import { idsForgottenBeside, others, ownOf } from "../kept-answer-rows.ts";
import type { GroupCommit } from "./file/group-commit.ts";

export function createSqliteKeptAnswers(db: Database, commits: GroupCommit): KeptAnswers {
  const sql = prepare(db);

  const keep = ({ accountId, upstream, idHashes, untilMs }: KeptAnswer, nowMs: number): void => {
    for (const idHash of idHashes) sql.keep.run(idHash, accountId, upstream, untilMs);
    sql.forget.run(nowMs, idHashes.length + idsForgottenBeside);
  };

  const find = (accountId: string, idHash: Uint8Array, nowMs: number): FoundKept | undefined => {
    const own = sql.findOwn.get(idHash, accountId, nowMs);
    if (own) return ownOf(own);
    return sql.findAny.get(idHash, nowMs) ? others : undefined;
  };

  return {
    keep: (answer, nowMs) => commits.run(() => keep(answer, nowMs)),
    find: async (accountId, idHashes, nowMs) => idHashes.map((idHash) => find(accountId, idHash, nowMs)),
  };
}

function prepare(db: Database) {
  return {
    keep: db.query<never, [Uint8Array, string, string, number]>(
      `INSERT INTO kept_answer (id_hash, account_id, upstream, until_ms) VALUES (?1, ?2, ?3, ?4)
       ON CONFLICT (id_hash, account_id) DO UPDATE SET upstream = ?3, until_ms = max(until_ms, ?4)`,
    ),
    forget: db.query<never, [number, number]>(
      `DELETE FROM kept_answer WHERE (id_hash, account_id) IN (
         SELECT id_hash, account_id FROM kept_answer WHERE until_ms <= ?1 LIMIT ?2)`,
    ),
    findOwn: db.query<{ upstream: string }, [Uint8Array, string, number]>(
      "SELECT upstream FROM kept_answer WHERE id_hash = ?1 AND account_id = ?2 AND until_ms > ?3",
    ),
    findAny: db.query<{ upstream: string }, [Uint8Array, number]>(
      "SELECT upstream FROM kept_answer WHERE id_hash = ?1 AND until_ms > ?2 LIMIT 1",
    ),
  };
}
