export const signIns = `
  CREATE TABLE sign_in_record (
    kind           id NOT NULL,
    id_hash        bytea NOT NULL,
    grant_id       id REFERENCES oauth_grant (id),
    scope          text,
    audience       text,
    sealed         bytea NOT NULL,
    expires_at_ms  bigint NOT NULL,
    consumed_at_ms bigint,
    PRIMARY KEY (kind, id_hash)
  );
  CREATE INDEX sign_in_record_of_grant ON sign_in_record (grant_id) WHERE grant_id IS NOT NULL;
  CREATE INDEX sign_in_record_by_expiry ON sign_in_record (expires_at_ms);
`;
