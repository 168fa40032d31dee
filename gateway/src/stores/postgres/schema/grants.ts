export const grants = `
  CREATE TABLE oauth_grant (
    id              id PRIMARY KEY,
    account_id      id NOT NULL REFERENCES account (id),
    key_id          id NOT NULL REFERENCES key (id),
    client_id       text NOT NULL,
    client_name     text NOT NULL,
    redirect_host   text NOT NULL,
    scopes          text NOT NULL,
    per_call_micros bigint NOT NULL CHECK (per_call_micros >= 0),
    per_day_micros  bigint NOT NULL CHECK (per_day_micros >= 0),
    created_at_ms   bigint NOT NULL,
    expires_at_ms   bigint NOT NULL,
    revoked_at_ms   bigint
  );
  CREATE INDEX oauth_grant_of_account ON oauth_grant (account_id);

  CREATE TABLE grant_day (
    grant_id     id NOT NULL REFERENCES oauth_grant (id),
    day_start_ms bigint NOT NULL,
    spent_micros bigint NOT NULL CHECK (spent_micros >= 0),
    held_micros  bigint NOT NULL CHECK (held_micros >= 0),
    PRIMARY KEY (grant_id, day_start_ms)
  );
`;
