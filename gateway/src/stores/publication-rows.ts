import type { Publication, PublicationKind, PublicationListing } from "../contract/publications.ts";

export interface ListedRow {
  readonly kind: PublicationKind;
  readonly content_hash: string;
  readonly revision: string;
  readonly published_at_ms: bigint;
}

export interface PublicationRow extends ListedRow {
  readonly packed: Uint8Array<ArrayBuffer>;
}

export const listedColumns = "kind, content_hash, revision, published_at_ms";

export const publicationOf = (row: PublicationRow): Publication => ({
  ...listingOf(row),
  bytes: unpack(row.packed),
});

export const listingOf = (row: ListedRow): PublicationListing => ({
  kind: row.kind,
  contentHash: row.content_hash,
  revision: row.revision,
  publishedAtMs: Number(row.published_at_ms),
});

export const pack = (bytes: Uint8Array): Uint8Array => Bun.gzipSync(new Uint8Array(bytes));

/** A damaged row is not an error here: the reader compares hashes and finds out. */
function unpack(packed: Uint8Array<ArrayBuffer>): Uint8Array {
  try {
    return Bun.gunzipSync(packed);
  } catch {
    return new Uint8Array();
  }
}
