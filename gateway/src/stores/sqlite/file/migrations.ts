import type { Database } from "bun:sqlite";

// Two things keep the hot path cheap. A CHECK spells its words out with OR, because an IN list is built anew for
// every row. Tables that grow are keyed by time first, so that one commit touches few pages, however many
// accounts take part in it.
//
// Each migration brings the schema one version forward and is never edited once released.
// `user_version` of the file says how many have run.

const migrations: readonly string[] = [
  `
  CREATE TABLE installation (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE run (
    id            INTEGER PRIMARY KEY,
    started_at_ms INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE account (
    id                  TEXT PRIMARY KEY,
    name                TEXT NOT NULL,
    tier                TEXT NOT NULL CHECK (tier = 'free' OR tier = 'starter' OR tier = 'growth' OR tier = 'enterprise'),
    plan_multiplier_ppm INTEGER NOT NULL CHECK (plan_multiplier_ppm >= 0),
    suspended           INTEGER NOT NULL DEFAULT 0 CHECK (suspended = 0 OR suspended = 1),
    posted_micros       INTEGER NOT NULL DEFAULT 0,
    held_micros         INTEGER NOT NULL DEFAULT 0 CHECK (held_micros >= 0),
    topped_up_micros    INTEGER NOT NULL DEFAULT 0 CHECK (topped_up_micros >= 0),
    charge_carry_atto   INTEGER NOT NULL DEFAULT 0 CHECK (charge_carry_atto BETWEEN 0 AND 999999999999),
    value_carry_pico    INTEGER NOT NULL DEFAULT 0 CHECK (value_carry_pico BETWEEN 0 AND 999999),
    created_at_ms       INTEGER NOT NULL,
    CHECK (posted_micros - held_micros >= 0)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE key (
    id             TEXT PRIMARY KEY,
    account_id     TEXT NOT NULL REFERENCES account (id),
    name           TEXT NOT NULL,
    scope          TEXT NOT NULL CHECK (scope = 'key' OR scope = 'account'),
    budget_micros  INTEGER CHECK (budget_micros >= 0),
    budget_window  TEXT CHECK (budget_window = 'day' OR budget_window = 'month' OR budget_window = 'total'),
    created_at_ms  INTEGER NOT NULL,
    expires_at_ms  INTEGER,
    revoked_at_ms  INTEGER,
    CHECK ((budget_micros IS NULL) = (budget_window IS NULL))
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX key_of_account ON key (account_id);

  CREATE TABLE key_secret (
    hash          BLOB PRIMARY KEY,
    key_id        TEXT NOT NULL REFERENCES key (id),
    last4         TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX key_secret_of_key ON key_secret (key_id);

  CREATE TABLE budget (
    key_id          TEXT NOT NULL REFERENCES key (id),
    window_start_ms INTEGER NOT NULL,
    spent_micros    INTEGER NOT NULL CHECK (spent_micros >= 0),
    held_micros     INTEGER NOT NULL CHECK (held_micros >= 0),
    PRIMARY KEY (key_id, window_start_ms)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE price (
    version      TEXT PRIMARY KEY,
    operation_id TEXT NOT NULL,
    model        TEXT,
    unit_prices  TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE call (
    id                     TEXT PRIMARY KEY,
    account_id             TEXT NOT NULL REFERENCES account (id),
    key_id                 TEXT NOT NULL REFERENCES key (id),
    operation_id           TEXT NOT NULL,
    model                  TEXT,
    state                  TEXT NOT NULL CHECK (state = 'held' OR state = 'dispatched' OR state = 'settled' OR state = 'released' OR state = 'unknown'),
    outcome                TEXT CHECK (outcome = 'succeeded' OR outcome = 'failed' OR outcome = 'unknown'),
    held_micros            INTEGER NOT NULL CHECK (held_micros >= 0),
    value_micros           INTEGER NOT NULL DEFAULT 0 CHECK (value_micros >= 0),
    charged_micros         INTEGER NOT NULL DEFAULT 0,
    written_off_micros     INTEGER NOT NULL DEFAULT 0 CHECK (written_off_micros >= 0),
    price_version          TEXT NOT NULL REFERENCES price (version),
    multiplier_ppm         INTEGER NOT NULL,
    budget_window_start_ms INTEGER,
    used                   TEXT NOT NULL DEFAULT '{}',
    usage_source           TEXT NOT NULL DEFAULT 'none' CHECK (usage_source = 'provider' OR usage_source = 'estimated' OR usage_source = 'none'),
    http_status            INTEGER,
    attempts               TEXT NOT NULL DEFAULT '[]',
    run_id                 INTEGER NOT NULL,
    created_at_ms          INTEGER NOT NULL,
    dispatched_at_ms       INTEGER,
    settled_at_ms          INTEGER,
    CHECK (charged_micros BETWEEN 0 AND held_micros),
    CHECK ((state = 'settled' OR state = 'released') = (settled_at_ms IS NOT NULL))
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX call_of_account ON call (account_id, id);
  CREATE INDEX call_open ON call (run_id) WHERE settled_at_ms IS NULL;

  CREATE TABLE entry (
    transfer_id   TEXT NOT NULL,
    kind          TEXT NOT NULL CHECK (kind = 'charge' OR kind = 'write_off' OR kind = 'top_up' OR kind = 'grant' OR kind = 'adjustment'),
    party         TEXT NOT NULL,
    amount_micros INTEGER NOT NULL,
    memo          TEXT,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (transfer_id, kind, party)
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER entry_is_never_changed BEFORE UPDATE ON entry
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
  CREATE TRIGGER entry_is_never_removed BEFORE DELETE ON entry
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;

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
  `,
  `
  CREATE TABLE idempotency (
    account_id    TEXT NOT NULL REFERENCES account (id),
    key_hash      BLOB NOT NULL,
    fingerprint   BLOB NOT NULL,
    call_id       TEXT NOT NULL REFERENCES call (id),
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (account_id, key_hash)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX idempotency_by_age ON idempotency (created_at_ms);

  ALTER TABLE call ADD COLUMN progress TEXT;

  ALTER TABLE account ADD COLUMN rpm INTEGER CHECK (rpm > 0);
  ALTER TABLE account ADD COLUMN tpm INTEGER CHECK (tpm > 0);
  ALTER TABLE account ADD COLUMN concurrency INTEGER CHECK (concurrency > 0);

  CREATE TABLE quota_application (
    id              TEXT PRIMARY KEY,
    account_id      TEXT NOT NULL REFERENCES account (id),
    key_id          TEXT NOT NULL REFERENCES key (id),
    expected_rpm    INTEGER NOT NULL,
    expected_tpm    INTEGER NOT NULL,
    models          TEXT NOT NULL,
    endpoints       TEXT NOT NULL,
    use_case        TEXT NOT NULL,
    key_hash        BLOB,
    fingerprint     BLOB,
    state           TEXT NOT NULL CHECK (state = 'open' OR state = 'approved' OR state = 'denied'),
    created_at_ms   INTEGER NOT NULL,
    decided_at_ms   INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX quota_application_of_account ON quota_application (account_id, state);
  CREATE UNIQUE INDEX quota_application_once ON quota_application (account_id, key_hash) WHERE key_hash IS NOT NULL;
  `,
  `
  CREATE TABLE link_attempt (
    state_hash    BLOB PRIMARY KEY,
    id            TEXT NOT NULL,
    key_id        TEXT NOT NULL REFERENCES key (id),
    account_id    TEXT NOT NULL REFERENCES account (id),
    upstream      TEXT NOT NULL,
    scopes        TEXT NOT NULL,
    salt          BLOB NOT NULL,
    verifier      BLOB NOT NULL,
    confirm       INTEGER NOT NULL CHECK (confirm = 0 OR confirm = 1),
    browser_hash  BLOB,
    key_hash      BLOB,
    fingerprint   BLOB,
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    used_at_ms    INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX link_attempt_of_key ON link_attempt (key_id, created_at_ms);
  CREATE INDEX link_attempt_by_end ON link_attempt (expires_at_ms);
  CREATE UNIQUE INDEX link_attempt_once ON link_attempt (account_id, key_hash) WHERE key_hash IS NOT NULL;

  CREATE TABLE link (
    id                TEXT PRIMARY KEY,
    key_id            TEXT NOT NULL REFERENCES key (id),
    account_id        TEXT NOT NULL REFERENCES account (id),
    upstream          TEXT NOT NULL,
    user_id           TEXT,
    username          TEXT,
    scopes            TEXT NOT NULL,
    version           INTEGER NOT NULL,
    salt              BLOB NOT NULL,
    access_token      BLOB NOT NULL,
    refresh_token     BLOB,
    expires_at_ms     INTEGER,
    renewing_until_ms INTEGER,
    undo_hash         BLOB,
    undo_until_ms     INTEGER,
    created_at_ms     INTEGER NOT NULL,
    lapsed_at_ms      INTEGER,
    revoked_at_ms     INTEGER,
    CHECK ((user_id IS NULL) = (username IS NULL))
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX link_live ON link (key_id, upstream) WHERE revoked_at_ms IS NULL;
  CREATE INDEX link_of_account ON link (account_id, created_at_ms);
  CREATE INDEX link_of_key ON link (key_id, created_at_ms);
  CREATE UNIQUE INDEX link_undo ON link (undo_hash) WHERE undo_hash IS NOT NULL;
  `,
  `
  CREATE TABLE task (
    call_id          TEXT PRIMARY KEY REFERENCES call (id),
    id               TEXT NOT NULL UNIQUE,
    account_id       TEXT NOT NULL REFERENCES account (id),
    key_id           TEXT NOT NULL REFERENCES key (id),
    state            TEXT NOT NULL CHECK (state = 'CREATING' OR state = 'LOST' OR state = 'PENDING' OR state = 'RUNNING' OR state = 'UNKNOWN'
                                       OR state = 'SUCCEEDED' OR state = 'FAILED' OR state = 'CANCELED' OR state = 'EXPIRED' OR state = 'REFUSED'),
    upstream         TEXT,
    upstream_task_id TEXT,
    expected         TEXT NOT NULL,
    attempts         TEXT NOT NULL DEFAULT '[]',
    report           TEXT,
    created_at_ms    INTEGER NOT NULL,
    asked_at_ms      INTEGER NOT NULL,
    next_poll_at_ms  INTEGER NOT NULL,
    deadline_at_ms   INTEGER NOT NULL,
    lease_until_ms   INTEGER NOT NULL DEFAULT 0,
    fence            INTEGER NOT NULL DEFAULT 0,
    errors           INTEGER NOT NULL DEFAULT 0,
    missing          INTEGER NOT NULL DEFAULT 0,
    ended_at_ms      INTEGER,
    forget_at_ms     INTEGER,
    CHECK ((upstream IS NULL) = (upstream_task_id IS NULL)),
    CHECK ((ended_at_ms IS NULL) = (forget_at_ms IS NULL))
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX task_due ON task (upstream, next_poll_at_ms) WHERE ended_at_ms IS NULL;
  CREATE INDEX task_open_of_key ON task (key_id) WHERE ended_at_ms IS NULL;
  CREATE INDEX task_overdue ON task (deadline_at_ms) WHERE ended_at_ms IS NULL;
  `,
  `
  CREATE TABLE publication (
    kind            TEXT NOT NULL CHECK (kind = 'contract' OR kind = 'sales'),
    content_hash    TEXT NOT NULL,
    revision        TEXT NOT NULL,
    published_at_ms INTEGER NOT NULL,
    packed          BLOB NOT NULL,
    PRIMARY KEY (kind, content_hash)
  ) STRICT;
  CREATE INDEX publication_by_age ON publication (kind, published_at_ms);
  `,
  `
  CREATE TABLE oauth_grant (
    id              TEXT PRIMARY KEY,
    account_id      TEXT NOT NULL REFERENCES account (id),
    key_id          TEXT NOT NULL REFERENCES key (id),
    client_id       TEXT NOT NULL,
    client_name     TEXT NOT NULL,
    redirect_host   TEXT NOT NULL,
    scopes          TEXT NOT NULL,
    per_call_micros INTEGER NOT NULL CHECK (per_call_micros >= 0),
    per_day_micros  INTEGER NOT NULL CHECK (per_day_micros >= 0),
    created_at_ms   INTEGER NOT NULL,
    expires_at_ms   INTEGER NOT NULL,
    revoked_at_ms   INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX oauth_grant_of_account ON oauth_grant (account_id);

  CREATE TABLE grant_day (
    grant_id      TEXT NOT NULL REFERENCES oauth_grant (id),
    start_ms      INTEGER NOT NULL,
    spent_micros  INTEGER NOT NULL CHECK (spent_micros >= 0),
    held_micros   INTEGER NOT NULL CHECK (held_micros >= 0),
    PRIMARY KEY (grant_id, start_ms)
  ) STRICT, WITHOUT ROWID;
  ALTER TABLE call ADD COLUMN grant_id TEXT REFERENCES oauth_grant (id);

  CREATE TABLE sign_in_record (
    kind           TEXT NOT NULL,
    id_hash        BLOB NOT NULL,
    grant_id       TEXT REFERENCES oauth_grant (id),
    scope          TEXT,
    audience       TEXT,
    sealed         BLOB NOT NULL,
    expires_at_ms  INTEGER NOT NULL,
    consumed_at_ms INTEGER,
    PRIMARY KEY (kind, id_hash)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sign_in_record_of_grant ON sign_in_record (grant_id) WHERE grant_id IS NOT NULL;
  CREATE INDEX sign_in_record_by_expiry ON sign_in_record (expires_at_ms);

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
  `,
  `
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
  `,
  `
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
  `,

  // What is not in the lists yet, for many accounts in one row; readers look at both.
  `
  CREATE TABLE unlisted (
    number INTEGER PRIMARY KEY,
    lists  TEXT NOT NULL
  ) STRICT;
  CREATE VIEW listed_call (account_id, call_id) AS
    SELECT account_id, call_id FROM account_call UNION
    SELECT list.key, call_id.value FROM unlisted, json_each(unlisted.lists) AS list, json_each(list.value) AS call_id;
  `,

  // Old questions are forgotten by those who ask new ones, who must not look through all of them.
  `
  CREATE INDEX approval_by_expiry ON approval (expires_at_ms);
  `,

  // Idempotency keys in the order they come. A number is never given twice, so who knows the newest knows them all.
  `
  CREATE TABLE claim (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    mark        INTEGER NOT NULL,
    key_hash    BLOB NOT NULL,
    fingerprint BLOB NOT NULL,
    call_id     TEXT NOT NULL REFERENCES call (id)
  ) STRICT;
  `,
  `
  ALTER TABLE approval_item ADD COLUMN expected_micros INTEGER NOT NULL DEFAULT 0 CHECK (expected_micros >= 0);
  ALTER TABLE approval_item ADD COLUMN arguments TEXT NOT NULL DEFAULT '';
  ALTER TABLE approval_item ADD COLUMN arguments_cut INTEGER NOT NULL DEFAULT 0 CHECK (arguments_cut = 0 OR arguments_cut = 1);
  UPDATE approval_item SET expected_micros = cap_micros, arguments = summary, arguments_cut = (length(summary) > 300);
  ALTER TABLE approval_item DROP COLUMN rate;
  `,

  // Lists of patterns; a key without one may call every model, or every operation.
  `
  ALTER TABLE key ADD COLUMN allowed_models TEXT CHECK (json_type(allowed_models) = 'array');
  ALTER TABLE key ADD COLUMN allowed_operations TEXT CHECK (json_type(allowed_operations) = 'array');
  `,

  // By the vendor's id, which two tasks must not share. Not unique, so that books in which two do can still be opened.
  `
  CREATE INDEX task_at_vendor ON task (upstream_task_id, upstream) WHERE upstream_task_id IS NOT NULL;
  `,

  // Whoever begins a link counts the open attempts of its key, and forgets old ones that keep no idempotency key. The others
  // stay for a day, however many they are, and must not be looked through.
  `
  CREATE INDEX link_attempt_open ON link_attempt (key_id, expires_at_ms) WHERE used_at_ms IS NULL;
  CREATE INDEX link_attempt_unkeyed ON link_attempt (key_id, created_at_ms) WHERE key_hash IS NULL;
  DROP INDEX link_attempt_of_key;
  `,

  // A key counts its days from its first budget on, and what it had spent until then is brought over (budget-days.ts). For
  // keys that have a budget now the next run does it, when the journal is posted.
  `
  ALTER TABLE key ADD COLUMN counts_days INTEGER NOT NULL DEFAULT 0 CHECK (counts_days = 0 OR counts_days = 1);
  ALTER TABLE budget ADD COLUMN spent_before_micros INTEGER NOT NULL DEFAULT 0
    CHECK (spent_before_micros >= 0 AND spent_before_micros <= spent_micros);
  `,

  // Whose an answer is that its vendor keeps. Looked for by nothing but the vendor's ids, which come in no order.
  `
  CREATE TABLE kept_answer (
    id_hash    BLOB NOT NULL,
    account_id TEXT NOT NULL,
    upstream   TEXT NOT NULL,
    until_ms   INTEGER NOT NULL,
    PRIMARY KEY (id_hash, account_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX kept_answer_by_end ON kept_answer (until_ms);
  `,
];

export const schemaVersion = migrations.length;

/** Brings the file forward to this program's schema, or to an older one; refuses one made by a newer program. */
export function migrate(db: Database, target = schemaVersion): void {
  const version = knownVersionOf(db);
  for (let next = version; next < target; next++) {
    db.transaction(() => {
      // Another program may have opened the same file and run it since we looked.
      if (versionOf(db) !== next) return;
      db.run(migrations[next] ?? "");
      db.run(`PRAGMA user_version = ${next + 1}`);
    }).immediate();
  }
}

/** The schema of the file, 0 where there is none yet; throws for one made by a newer program. */
export function knownVersionOf(db: Database): number {
  const version = versionOf(db);
  if (version <= schemaVersion) return version;
  throw new Error(
    `The data was written by a newer Tollgate (schema ${version}; this program knows ${schemaVersion}). ` +
      "Start that version, or restore an older backup.",
  );
}

/** A new file is of none. */
export function isOfEarlierVersion(db: Database): boolean {
  const version = versionOf(db);
  return version > 0 && version < schemaVersion;
}

export function versionOf(db: Database): number {
  const row = db.query<{ user_version: bigint }, []>("PRAGMA user_version").get();
  return Number(row?.user_version ?? 0n);
}
