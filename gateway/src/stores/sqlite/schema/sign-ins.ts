export const signIns = `
  CREATE TABLE sign_in_record (
    kind           TEXT NOT NULL,
    id_hash        BLOB NOT NULL,
    grant_id       TEXT REFERENCES oauth_grant (id),
    scope          TEXT,
    audience       TEXT,
    sealed         BLOB NOT NULL,
    expires_at_ms  INTEGER NOT NULL,
    consumed_at_ms INTEGER,
    PRIMARY KEY (kind, id_hash)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sign_in_record_of_grant ON sign_in_record (grant_id) WHERE grant_id IS NOT NULL;
  CREATE INDEX sign_in_record_by_expiry ON sign_in_record (expires_at_ms);
`;
