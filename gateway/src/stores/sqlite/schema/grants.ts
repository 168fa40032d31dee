export const grants = `
  CREATE TABLE oauth_grant (
    id              TEXT PRIMARY KEY,
    account_id      TEXT NOT NULL REFERENCES account (id),
    key_id          TEXT NOT NULL REFERENCES key (id),
    client_id       TEXT NOT NULL,
    client_name     TEXT NOT NULL,
    redirect_host   TEXT NOT NULL,
    scopes          TEXT NOT NULL,
    per_call_micros INTEGER NOT NULL CHECK (per_call_micros >= 0),
    per_day_micros  INTEGER NOT NULL CHECK (per_day_micros >= 0),
    created_at_ms   INTEGER NOT NULL,
    expires_at_ms   INTEGER NOT NULL,
    revoked_at_ms   INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX oauth_grant_of_account ON oauth_grant (account_id);

  CREATE TABLE grant_day (
    grant_id      TEXT NOT NULL REFERENCES oauth_grant (id),
    start_ms      INTEGER NOT NULL,
    spent_micros  INTEGER NOT NULL CHECK (spent_micros >= 0),
    held_micros   INTEGER NOT NULL CHECK (held_micros >= 0),
    PRIMARY KEY (grant_id, start_ms)
  ) STRICT, WITHOUT ROWID;
  ALTER TABLE call ADD COLUMN grant_id TEXT REFERENCES oauth_grant (id);
`;
