export const tasks = `
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
`;

/** By the vendor's id, which two tasks must not share. Not unique, so that books in which two do can still be opened. */
export const tasksAtVendor = `
  CREATE INDEX task_at_vendor ON task (upstream_task_id, upstream) WHERE upstream_task_id IS NOT NULL;
`;
