/** Which account may use an answer that its vendor keeps. It is found only by the vendor's id, and ids come in no order. */
export const keptAnswers = `
  CREATE TABLE kept_answer (
    id_hash    BLOB NOT NULL,
    account_id TEXT NOT NULL,
    upstream   TEXT NOT NULL,
    until_ms   INTEGER NOT NULL,
    PRIMARY KEY (id_hash, account_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX kept_answer_by_end ON kept_answer (until_ms);
`;
