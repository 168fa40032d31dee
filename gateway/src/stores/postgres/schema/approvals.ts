export const approvals = `
  CREATE TABLE approval (
    id            id PRIMARY KEY,
    account_id    id NOT NULL REFERENCES account (id),
    key_id        id NOT NULL REFERENCES key (id),
    grant_id      id REFERENCES oauth_grant (id),
    asker         text NOT NULL,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    decision      text CHECK (decision IN ('approved', 'denied')),
    decided_at_ms bigint,
    CHECK ((decision IS NULL) = (decided_at_ms IS NULL))
  );
  CREATE INDEX approval_of_account ON approval (account_id, expires_at_ms);
  CREATE INDEX approval_by_expiry ON approval (expires_at_ms);

  CREATE TABLE approval_item (
    approval_id     id NOT NULL REFERENCES approval (id),
    position        bigint NOT NULL,
    operation_id    text NOT NULL,
    digest          bytea NOT NULL,
    cap_micros      bigint NOT NULL CHECK (cap_micros >= 0),
    expected_micros bigint NOT NULL CHECK (expected_micros >= 0),
    summary         text NOT NULL,
    arguments       text NOT NULL,
    arguments_cut   boolean NOT NULL,
    call_id         id REFERENCES call (id),
    PRIMARY KEY (approval_id, position)
  );
`;
