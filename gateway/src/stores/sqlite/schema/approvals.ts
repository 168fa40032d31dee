export const approvals = `
  CREATE TABLE approval (
    id             TEXT PRIMARY KEY,
    account_id     TEXT NOT NULL REFERENCES account (id),
    key_id         TEXT NOT NULL REFERENCES key (id),
    grant_id       TEXT REFERENCES oauth_grant (id),
    asker          TEXT NOT NULL,
    created_at_ms  INTEGER NOT NULL,
    expires_at_ms  INTEGER NOT NULL,
    decision       TEXT CHECK (decision = 'approved' OR decision = 'denied'),
    decided_at_ms  INTEGER,
    CHECK ((decision IS NULL) = (decided_at_ms IS NULL))
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX approval_of_account ON approval (account_id, expires_at_ms);

  CREATE TABLE approval_item (
    approval_id    TEXT NOT NULL REFERENCES approval (id),
    position       INTEGER NOT NULL,
    operation_id   TEXT NOT NULL,
    digest         BLOB NOT NULL,
    cap_micros     INTEGER NOT NULL CHECK (cap_micros >= 0),
    rate           TEXT NOT NULL,
    summary        TEXT NOT NULL,
    call_id        TEXT REFERENCES call (id),
    PRIMARY KEY (approval_id, position)
  ) STRICT, WITHOUT ROWID;
`;

/** Old questions are forgotten by those who ask new ones, who must not look through all of them. */
export const approvalsByExpiry = `
  CREATE INDEX approval_by_expiry ON approval (expires_at_ms);
`;

export const approvalArguments = `
  ALTER TABLE approval_item ADD COLUMN expected_micros INTEGER NOT NULL DEFAULT 0 CHECK (expected_micros >= 0);
  ALTER TABLE approval_item ADD COLUMN arguments TEXT NOT NULL DEFAULT '';
  ALTER TABLE approval_item ADD COLUMN arguments_cut INTEGER NOT NULL DEFAULT 0 CHECK (arguments_cut = 0 OR arguments_cut = 1);
  UPDATE approval_item SET expected_micros = cap_micros, arguments = summary, arguments_cut = (length(summary) > 300);
  ALTER TABLE approval_item DROP COLUMN rate;
`;
