import type { Database } from "bun:sqlite";
import { publicationsMax, type Publication, type PublicationBook } from "../../contract/publications.ts";
import {
  listedColumns,
  listingOf,
  pack,
  publicationOf,
  type ListedRow,
  type PublicationRow,
} from "../publication-rows.ts";
import type { GroupCommit } from "./file/group-commit.ts";

export function createSqlitePublications(db: Database, commits: GroupCommit): PublicationBook {
  const sql = prepare(db);
  return {
    keep: ({ kind, contentHash, revision, publishedAtMs, bytes }) => {
      const packed = pack(bytes);
      return commits.run(() => {
        sql.keep.run(kind, contentHash, revision, publishedAtMs, packed);
        sql.forget.run(kind, publicationsMax);
      });
    },
    find: async (kind, contentHash) => found(sql.find.get(kind, contentHash)),
    latest: async (kind) => found(sql.latest.get(kind)),
    list: async (kind, limit) => sql.list.all(kind, limit).map(listingOf),
  };
}

const found = (row: PublicationRow | null): Publication | undefined =>
  row === null ? undefined : publicationOf(row);

function prepare(db: Database) {
  return {
    keep: db.query<never, [string, string, string, number, Uint8Array]>(
      `INSERT INTO publication (${listedColumns}, packed) VALUES (?1, ?2, ?3, ?4, ?5)
       ON CONFLICT (kind, content_hash)
       DO UPDATE SET revision = ?3, published_at_ms = ?4, packed = ?5`,
    ),
    forget: db.query<never, [string, number]>(
      `DELETE FROM publication WHERE kind = ?1 AND published_at_ms <
         (SELECT published_at_ms FROM publication WHERE kind = ?1 ORDER BY published_at_ms DESC LIMIT 1 OFFSET ?2 - 1)`,
    ),
    find: db.query<PublicationRow, [string, string]>(
      `SELECT ${listedColumns}, packed FROM publication WHERE kind = ?1 AND content_hash = ?2`,
    ),
    latest: db.query<PublicationRow, [string]>(
      `SELECT ${listedColumns}, packed FROM publication WHERE kind = ?1 ORDER BY published_at_ms DESC LIMIT 1`,
    ),
    list: db.query<ListedRow, [string, number]>(
      `SELECT ${listedColumns} FROM publication WHERE kind = ?1 ORDER BY published_at_ms DESC LIMIT ?2`,
    ),
  };
}
