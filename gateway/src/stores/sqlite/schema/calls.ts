export const calls = `
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
`;

/** What a stream has delivered so far, by which it is charged should the process die. */
export const progress = `
  ALTER TABLE call ADD COLUMN progress TEXT;
`;
