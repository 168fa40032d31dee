import type { Database } from "bun:sqlite";
import {
  publicationsMax,
  type Publication,
  type PublicationBook,
  type PublicationKind,
  type PublicationListing,
} from "../../contract/publications.ts";
import type { GroupCommit } from "./group-commit.ts";

interface ListedRow {
  kind: PublicationKind;
  content_hash: string;
  revision: string;
  published_at_ms: bigint;
}

interface Row extends ListedRow {
  packed: Uint8Array<ArrayBuffer>;
}

export function createSqlitePublications(db: Database, commits: GroupCommit): PublicationBook {
  const sql = prepare(db);
  return {
    keep: ({ kind, contentHash, revision, publishedAtMs, bytes }) => {
      const packed = Bun.gzipSync(new Uint8Array(bytes));
      return commits.run(() => {
        sql.keep.run(kind, contentHash, revision, publishedAtMs, packed);
        sql.forget.run(kind, publicationsMax);
      });
    },
    find: async (kind, contentHash) => read(sql.find.get(kind, contentHash)),
    latest: async (kind) => read(sql.latest.get(kind)),
    list: async (kind, limit) => sql.list.all(kind, limit).map(listingOf),
  };
}

const read = (row: Row | null): Publication | undefined =>
  row === null ? undefined : { ...listingOf(row), bytes: unpack(row.packed) };

const listingOf = (row: ListedRow): PublicationListing => ({
  kind: row.kind,
  contentHash: row.content_hash,
  revision: row.revision,
  publishedAtMs: Number(row.published_at_ms),
});

/** A damaged row is not an error here: the reader compares hashes and finds out. */
function unpack(packed: Uint8Array<ArrayBuffer>): Uint8Array {
  try {
    return Bun.gunzipSync(packed);
  } catch {
    return new Uint8Array();
  }
}

function prepare(db: Database) {
  const columns = "kind, content_hash, revision, published_at_ms";
  return {
    keep: db.query<never, [string, string, string, number, Uint8Array]>(
      `INSERT INTO publication (${columns}, packed) VALUES (?1, ?2, ?3, ?4, ?5)
       ON CONFLICT (kind, content_hash)
       DO UPDATE SET revision = ?3, published_at_ms = ?4, packed = ?5`,
    ),
    forget: db.query<never, [string, number]>(
      `DELETE FROM publication WHERE kind = ?1 AND published_at_ms <
         (SELECT published_at_ms FROM publication WHERE kind = ?1 ORDER BY published_at_ms DESC LIMIT 1 OFFSET ?2 - 1)`,
    ),
    find: db.query<Row, [string, string]>(
      `SELECT ${columns}, packed FROM publication WHERE kind = ?1 AND content_hash = ?2`,
    ),
    latest: db.query<Row, [string]>(
      `SELECT ${columns}, packed FROM publication WHERE kind = ?1 ORDER BY published_at_ms DESC LIMIT 1`,
    ),
    list: db.query<ListedRow, [string, number]>(
      `SELECT ${columns} FROM publication WHERE kind = ?1 ORDER BY published_at_ms DESC LIMIT ?2`,
    ),
  };
}
