export const claims = `
  -- Which call has which idempotency key. It is written with the call, which is why nothing is looked up for it either.
  CREATE TABLE claim (
    account_id    id NOT NULL,
    key_hash      bytea NOT NULL,
    fingerprint   bytea NOT NULL,
    call_id       id NOT NULL,
    created_at_ms bigint NOT NULL,
    PRIMARY KEY (account_id, key_hash)
  );
  CREATE INDEX claim_by_age ON claim (created_at_ms);
`;
