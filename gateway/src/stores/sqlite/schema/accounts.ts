export const accounts = `
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
`;

export const accountLimits = `
  ALTER TABLE account ADD COLUMN rpm INTEGER CHECK (rpm > 0);
  ALTER TABLE account ADD COLUMN tpm INTEGER CHECK (tpm > 0);
  ALTER TABLE account ADD COLUMN concurrency INTEGER CHECK (concurrency > 0);
`;

/** Lists of patterns; a key without one may call every model, or every operation. */
export const allowedCalls = `
  ALTER TABLE key ADD COLUMN allowed_models TEXT CHECK (json_type(allowed_models) = 'array');
  ALTER TABLE key ADD COLUMN allowed_operations TEXT CHECK (json_type(allowed_operations) = 'array');
`;

/**
 * A key counts its days from its first budget on, and what it had spent until then is brought over (budget-days.ts). For
 * keys that have a budget now the next run does it, when the journal is posted.
 */
export const budgetDays = `
  ALTER TABLE key ADD COLUMN counts_days INTEGER NOT NULL DEFAULT 0 CHECK (counts_days = 0 OR counts_days = 1);
  ALTER TABLE budget ADD COLUMN spent_before_micros INTEGER NOT NULL DEFAULT 0
    CHECK (spent_before_micros >= 0 AND spent_before_micros <= spent_micros);
`;
