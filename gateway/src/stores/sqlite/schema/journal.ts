/** Lists of an account's calls, and a daybook in which ended calls waited to be summed up. */
export const daybook = `
  CREATE TABLE account_call (
    account_id TEXT NOT NULL,
    call_id    TEXT NOT NULL,
    PRIMARY KEY (account_id, call_id)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO account_call SELECT account_id, id FROM call WHERE settled_at_ms IS NOT NULL ORDER BY account_id, id;
  DROP INDEX call_of_account;

  CREATE TABLE daybook (
    call_id            TEXT NOT NULL,
    account_id         TEXT NOT NULL,
    key_id             TEXT NOT NULL,
    settled_seconds    INTEGER NOT NULL,
    requests           INTEGER NOT NULL,
    failed_requests    INTEGER NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    value_micros       INTEGER NOT NULL,
    charged_micros     INTEGER NOT NULL
  ) STRICT;
`;

/**
 * The journal takes the daybook's place. Charges are no rows of their own any more: the view `entry` reads them from calls.
 * Where the two differ the books are left as they are, and the name of the constraint says what to do. Usage gets hours.
 */
export const journal = `
  INSERT INTO usage_bucket
  SELECT account_id, width_seconds, settled_seconds - settled_seconds % width_seconds, key_id, sum(requests),
         sum(failed_requests), sum(input_tokens), sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens),
         sum(value_micros), sum(charged_micros)
  FROM daybook CROSS JOIN (SELECT 1 AS width_seconds UNION ALL SELECT 60 UNION ALL SELECT 86400)
  WHERE true GROUP BY 1, 2, 3, 4
  ON CONFLICT DO UPDATE SET
    requests = requests + excluded.requests,
    failed_requests = failed_requests + excluded.failed_requests,
    input_tokens = input_tokens + excluded.input_tokens,
    output_tokens = output_tokens + excluded.output_tokens,
    cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
    cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens,
    value_micros = value_micros + excluded.value_micros,
    charged_micros = charged_micros + excluded.charged_micros;
  INSERT INTO account_call SELECT account_id, call_id FROM daybook ORDER BY account_id, call_id;
  DROP TABLE daybook;

  CREATE TABLE journal (
    number INTEGER PRIMARY KEY,
    lines  TEXT NOT NULL
  ) STRICT;

  CREATE TABLE found (differences INTEGER CONSTRAINT run_audit_before_this_update CHECK (differences = 0)) STRICT;
  INSERT INTO found
  SELECT count(*) FROM (
    SELECT transfer_id, kind, party, amount_micros FROM entry WHERE kind = 'charge' OR kind = 'write_off'
    EXCEPT SELECT * FROM (
      SELECT id, 'charge', account_id, -charged_micros FROM call UNION ALL
      SELECT id, 'charge', 'house:revenue', charged_micros FROM call UNION ALL
      SELECT id, 'write_off', 'house:write_offs', -written_off_micros FROM call UNION ALL
      SELECT id, 'write_off', 'house:revenue', written_off_micros FROM call));
  DROP TABLE found;
  DROP TRIGGER entry_is_never_changed;
  DROP TRIGGER entry_is_never_removed;
  ALTER TABLE entry RENAME TO payment;
  DELETE FROM payment WHERE kind = 'charge' OR kind = 'write_off';
  CREATE TRIGGER payment_is_never_changed BEFORE UPDATE ON payment
    BEGIN SELECT RAISE(ABORT, 'payments are append-only'); END;
  CREATE TRIGGER payment_is_never_removed BEFORE DELETE ON payment
    BEGIN SELECT RAISE(ABORT, 'payments are append-only'); END;
  CREATE TRIGGER ended_call_is_never_changed BEFORE UPDATE ON call WHEN old.settled_at_ms IS NOT NULL
    BEGIN SELECT RAISE(ABORT, 'a call that has ended is never changed'); END;
  CREATE TRIGGER call_is_never_removed BEFORE DELETE ON call
    BEGIN SELECT RAISE(ABORT, 'calls are never removed'); END;
  CREATE VIEW entry (transfer_id, kind, party, amount_micros, memo, created_at_ms) AS
    SELECT transfer_id, kind, party, amount_micros, memo, created_at_ms FROM payment UNION ALL
    SELECT id, 'charge', account_id, -charged_micros, NULL, settled_at_ms FROM call WHERE charged_micros <> 0 UNION ALL
    SELECT id, 'charge', 'house:revenue', charged_micros, NULL, settled_at_ms FROM call WHERE charged_micros <> 0 UNION ALL
    SELECT id, 'write_off', 'house:write_offs', -written_off_micros, NULL, settled_at_ms FROM call
    WHERE written_off_micros <> 0 UNION ALL
    SELECT id, 'write_off', 'house:revenue', written_off_micros, NULL, settled_at_ms FROM call
    WHERE written_off_micros <> 0;

  CREATE TABLE usage_by_hour (
    account_id         TEXT NOT NULL,
    width_seconds      INTEGER NOT NULL CHECK (width_seconds = 1 OR width_seconds = 60 OR width_seconds = 3600 OR width_seconds = 86400),
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
  INSERT INTO usage_by_hour SELECT * FROM usage_bucket;
  INSERT INTO usage_by_hour
  SELECT account_id, 3600, start_seconds - start_seconds % 3600 AS start, key_id, sum(requests), sum(failed_requests),
         sum(input_tokens), sum(output_tokens), sum(cache_read_tokens), sum(cache_write_tokens), sum(value_micros),
         sum(charged_micros)
  FROM usage_bucket WHERE width_seconds = 60 GROUP BY start, account_id, key_id;
  DROP TABLE usage_bucket;
  ALTER TABLE usage_by_hour RENAME TO usage_bucket;
`;

/** Calls that are not in the lists yet, for many accounts in one row; readers look at both. */
export const unlistedCalls = `
  CREATE TABLE unlisted (
    number INTEGER PRIMARY KEY,
    lists  TEXT NOT NULL
  ) STRICT;
  CREATE VIEW listed_call (account_id, call_id) AS
    SELECT account_id, call_id FROM account_call UNION
    SELECT list.key, call_id.value FROM unlisted, json_each(unlisted.lists) AS list, json_each(list.value) AS call_id;
`;
