export const links = `
  CREATE TABLE link_attempt (
    state_hash    bytea PRIMARY KEY,
    id            id NOT NULL,
    key_id        id NOT NULL REFERENCES key (id),
    account_id    id NOT NULL REFERENCES account (id),
    upstream      text NOT NULL,
    scopes        text NOT NULL,
    salt          bytea NOT NULL,
    verifier      bytea NOT NULL,
    confirm       boolean NOT NULL,
    browser_hash  bytea,
    key_hash      bytea,
    fingerprint   bytea,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    used_at_ms    bigint
  );
  CREATE INDEX link_attempt_of_key ON link_attempt (key_id, created_at_ms);
  CREATE INDEX link_attempt_by_end ON link_attempt (expires_at_ms);
  CREATE UNIQUE INDEX link_attempt_once ON link_attempt (account_id, key_hash) WHERE key_hash IS NOT NULL;

  CREATE TABLE link (
    id                id PRIMARY KEY,
    key_id            id NOT NULL REFERENCES key (id),
    account_id        id NOT NULL REFERENCES account (id),
    upstream          text NOT NULL,
    user_id           text,
    username          text,
    scopes            text NOT NULL,
    version           bigint NOT NULL,
    salt              bytea NOT NULL,
    access_token      bytea NOT NULL,
    refresh_token     bytea,
    expires_at_ms     bigint,
    renewing_until_ms bigint,
    undo_hash         bytea,
    undo_until_ms     bigint,
    created_at_ms     bigint NOT NULL,
    lapsed_at_ms      bigint,
    revoked_at_ms     bigint,
    CHECK ((user_id IS NULL) = (username IS NULL))
  );
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
