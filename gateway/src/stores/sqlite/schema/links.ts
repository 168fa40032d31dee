export const links = `
  CREATE TABLE link_attempt (
    state_hash    BLOB PRIMARY KEY,
    id            TEXT NOT NULL,
    key_id        TEXT NOT NULL REFERENCES key (id),
    account_id    TEXT NOT NULL REFERENCES account (id),
    upstream      TEXT NOT NULL,
    scopes        TEXT NOT NULL,
    salt          BLOB NOT NULL,
    verifier      BLOB NOT NULL,
    confirm       INTEGER NOT NULL CHECK (confirm = 0 OR confirm = 1),
    browser_hash  BLOB,
    key_hash      BLOB,
    fingerprint   BLOB,
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    used_at_ms    INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX link_attempt_of_key ON link_attempt (key_id, created_at_ms);
  CREATE INDEX link_attempt_by_end ON link_attempt (expires_at_ms);
  CREATE UNIQUE INDEX link_attempt_once ON link_attempt (account_id, key_hash) WHERE key_hash IS NOT NULL;

  CREATE TABLE link (
    id                TEXT PRIMARY KEY,
    key_id            TEXT NOT NULL REFERENCES key (id),
    account_id        TEXT NOT NULL REFERENCES account (id),
    upstream          TEXT NOT NULL,
    user_id           TEXT,
    username          TEXT,
    scopes            TEXT NOT NULL,
    version           INTEGER NOT NULL,
    salt              BLOB NOT NULL,
    access_token      BLOB NOT NULL,
    refresh_token     BLOB,
    expires_at_ms     INTEGER,
    renewing_until_ms INTEGER,
    undo_hash         BLOB,
    undo_until_ms     INTEGER,
    created_at_ms     INTEGER NOT NULL,
    lapsed_at_ms      INTEGER,
    revoked_at_ms     INTEGER,
    CHECK ((user_id IS NULL) = (username IS NULL))
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX link_live ON link (key_id, upstream) WHERE revoked_at_ms IS NULL;
  CREATE INDEX link_of_account ON link (account_id, created_at_ms);
  CREATE INDEX link_of_key ON link (key_id, created_at_ms);
  CREATE UNIQUE INDEX link_undo ON link (undo_hash) WHERE undo_hash IS NOT NULL;
`;

/**
 * Whoever begins a link counts the open attempts of its key, and forgets old ones that keep no idempotency key. The others
 * stay for a day, however many they are, and must not be looked through.
 */
export const openLinkAttempts = `
  CREATE INDEX link_attempt_open ON link_attempt (key_id, expires_at_ms) WHERE used_at_ms IS NULL;
  CREATE INDEX link_attempt_unkeyed ON link_attempt (key_id, created_at_ms) WHERE key_hash IS NULL;
  DROP INDEX link_attempt_of_key;
`;
