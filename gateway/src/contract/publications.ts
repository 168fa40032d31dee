/** Bytes that were shown to the public, under what identifies them. */
export interface Publication {
  readonly kind: PublicationKind;
  /** Lower-case SHA-256 of the bytes as they were published. */
  readonly contentHash: string;
  /** What they were made from: the docs revision of a contract, the address of sales data. */
  readonly revision: string;
  /** When they were last known to be what is current. */
  readonly publishedAtMs: number;
  readonly bytes: Uint8Array;
}

export type PublicationKind = "contract" | "sales";

export type PublicationListing = Omit<Publication, "bytes">;

/**
 * Keeps what was published, so that it can be served by its hash for as long as anybody may ask for it.
 *
 * Invariants: a hash has one publication of a kind; publishing it again renews its time and mends its bytes; only the
 * `publicationsMax` newest of a kind stay. The book does not vouch for its disk: whoever reads checks the bytes
 * against the hash, and bytes that cannot even be unpacked come back empty.
 */
export interface PublicationBook {
  readonly keep: (publication: Publication) => Promise<void>;
  readonly find: (kind: PublicationKind, contentHash: string) => Promise<Publication | undefined>;
  readonly latest: (kind: PublicationKind) => Promise<Publication | undefined>;
  /** Newest first. */
  readonly list: (kind: PublicationKind, limit: number) => Promise<readonly PublicationListing[]>;
}

/** Packed, a contract takes some 30 KB: a thousand are years of price changes in the space of a few photographs. */
export const publicationsMax = 1_000;
