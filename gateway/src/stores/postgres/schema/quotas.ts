export const quotaApplications = `
  CREATE TABLE quota_application (
    id            id PRIMARY KEY,
    account_id    id NOT NULL REFERENCES account (id),
    key_id        id NOT NULL REFERENCES key (id),
    expected_rpm  bigint NOT NULL,
    expected_tpm  bigint NOT NULL,
    models        text NOT NULL,
    endpoints     text NOT NULL,
    use_case      text NOT NULL,
    key_hash      bytea,
    fingerprint   bytea,
    state         text NOT NULL CHECK (state IN ('open', 'approved', 'denied')),
    created_at_ms bigint NOT NULL,
    decided_at_ms bigint
  );
  CREATE INDEX quota_application_of_account ON quota_application (account_id, state);
  CREATE UNIQUE INDEX quota_application_once ON quota_application (account_id, key_hash) WHERE key_hash IS NOT NULL;
`;
