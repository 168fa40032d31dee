import { publicationsMax, type PublicationBook } from "../../contract/publications.ts";
import {
  listedColumns,
  listingOf,
  pack,
  publicationOf,
  type ListedRow,
  type PublicationRow,
} from "../publication-rows.ts";
import type { Database } from "./server/database.ts";
import type { Value } from "./server/query.ts";

export function createPostgresPublications(db: Database): PublicationBook {
  const read = async (text: string, values: readonly Value[]) => {
    const [row] = await db.read<PublicationRow>(text, values);
    return row && publicationOf(row);
  };

  return {
    keep: ({ kind, contentHash, revision, publishedAtMs, bytes }) => {
      const packed = pack(bytes);
      return db.writePatiently(async (query) => {
        // Nodes that start together publish together, and each has to see what there is too much of.
        await query("LOCK TABLE publication IN SHARE ROW EXCLUSIVE MODE");
        await query(keep, [kind, contentHash, revision, publishedAtMs, packed]);
        await query(forget, [kind, publicationsMax]);
      });
    },
    find: (kind, contentHash) => read(find, [kind, contentHash]),
    latest: (kind) => read(latest, [kind]),
    list: async (kind, limit) => (await db.read<ListedRow>(list, [kind, limit])).map(listingOf),
  };
}

const keep = `
  INSERT INTO publication (${listedColumns}, packed) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (kind, content_hash)
  DO UPDATE SET revision = excluded.revision, published_at_ms = excluded.published_at_ms, packed = excluded.packed`;

const forget = `
  DELETE FROM publication WHERE kind = $1 AND published_at_ms <
    (SELECT published_at_ms FROM publication WHERE kind = $1 ORDER BY published_at_ms DESC LIMIT 1 OFFSET $2 - 1)`;

const find = `SELECT ${listedColumns}, packed FROM publication WHERE kind = $1 AND content_hash = $2`;

const latest = `
  SELECT ${listedColumns}, packed FROM publication WHERE kind = $1 ORDER BY published_at_ms DESC LIMIT 1`;

const list = `SELECT ${listedColumns} FROM publication WHERE kind = $1 ORDER BY published_at_ms DESC LIMIT $2`;
