/** The journal brought the width of an hour (journal.ts). */
export const usageBuckets = `
  CREATE TABLE usage_bucket (
    account_id         TEXT NOT NULL,
    width_seconds      INTEGER NOT NULL CHECK (width_seconds = 1 OR width_seconds = 60 OR width_seconds = 86400),
    start_seconds      INTEGER NOT NULL,
    key_id             TEXT NOT NULL,
    requests           INTEGER NOT NULL,
    failed_requests    INTEGER NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    value_micros       INTEGER NOT NULL,
    charged_micros     INTEGER NOT NULL,
    PRIMARY KEY (width_seconds, start_seconds, account_id, key_id)
  ) STRICT, WITHOUT ROWID;
`;
