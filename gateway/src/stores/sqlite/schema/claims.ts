/** Idempotency keys in their own order; since there are claims, only the keys that these leave over (journal/claims.ts). */
export const idempotencyKeys = `
  CREATE TABLE idempotency (
    account_id    TEXT NOT NULL REFERENCES account (id),
    key_hash      BLOB NOT NULL,
    fingerprint   BLOB NOT NULL,
    call_id       TEXT NOT NULL REFERENCES call (id),
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (account_id, key_hash)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX idempotency_by_age ON idempotency (created_at_ms);
`;

/** Idempotency keys in the order they come. A number is never given twice, so who knows the newest knows them all. */
export const claims = `
  CREATE TABLE claim (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    mark        INTEGER NOT NULL,
    key_hash    BLOB NOT NULL,
    fingerprint BLOB NOT NULL,
    call_id     TEXT NOT NULL REFERENCES call (id)
  ) STRICT;
`;
