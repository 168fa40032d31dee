export const quotaApplications = `
  CREATE TABLE quota_application (
    id              TEXT PRIMARY KEY,
    account_id      TEXT NOT NULL REFERENCES account (id),
    key_id          TEXT NOT NULL REFERENCES key (id),
    expected_rpm    INTEGER NOT NULL,
    expected_tpm    INTEGER NOT NULL,
    models          TEXT NOT NULL,
    endpoints       TEXT NOT NULL,
    use_case        TEXT NOT NULL,
    key_hash        BLOB,
    fingerprint     BLOB,
    state           TEXT NOT NULL CHECK (state = 'open' OR state = 'approved' OR state = 'denied'),
    created_at_ms   INTEGER NOT NULL,
    decided_at_ms   INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX quota_application_of_account ON quota_application (account_id, state);
  CREATE UNIQUE INDEX quota_application_once ON quota_application (account_id, key_hash) WHERE key_hash IS NOT NULL;
`;
