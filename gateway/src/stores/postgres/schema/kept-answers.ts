/**
 * Which account may use an answer that its vendor keeps. The account is no reference, because its row would be locked for
 * one: who keeps an answer waits for nobody who moves money.
 */
export const keptAnswers = `
  CREATE TABLE kept_answer (
    id_hash    bytea NOT NULL,
    account_id id NOT NULL,
    upstream   text NOT NULL,
    until_ms   bigint NOT NULL,
    PRIMARY KEY (id_hash, account_id)
  );
  CREATE INDEX kept_answer_by_end ON kept_answer (until_ms);
`;
