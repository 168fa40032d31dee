export const usageBuckets = `
  CREATE TABLE usage_bucket (
    account_id         id NOT NULL,
    width_seconds      bigint NOT NULL CHECK (width_seconds IN (1, 60, 3600, 86400)),
    start_seconds      bigint NOT NULL,
    key_id             id NOT NULL,
    requests           bigint NOT NULL,
    failed_requests    bigint NOT NULL,
    input_tokens       bigint NOT NULL,
    output_tokens      bigint NOT NULL,
    cache_read_tokens  bigint NOT NULL,
    cache_write_tokens bigint NOT NULL,
    value_micros       bigint NOT NULL,
    charged_micros     bigint NOT NULL,
    PRIMARY KEY (account_id, width_seconds, start_seconds, key_id)
  );
`;
