export const tasks = `
  CREATE TABLE task (
    call_id          id PRIMARY KEY REFERENCES call (id),
    id               id NOT NULL UNIQUE,
    account_id       id NOT NULL REFERENCES account (id),
    key_id           id NOT NULL REFERENCES key (id),
    state            text NOT NULL CHECK (state IN ('CREATING', 'LOST', 'PENDING', 'RUNNING', 'UNKNOWN',
                                                    'SUCCEEDED', 'FAILED', 'CANCELED', 'EXPIRED', 'REFUSED')),
    upstream         text,
    upstream_task_id text,
    expected         text NOT NULL,
    attempts         text NOT NULL DEFAULT '[]',
    report           text,
    created_at_ms    bigint NOT NULL,
    asked_at_ms      bigint NOT NULL,
    next_poll_at_ms  bigint NOT NULL,
    deadline_at_ms   bigint NOT NULL,
    lease_until_ms   bigint NOT NULL DEFAULT 0,
    -- The run that has the task while it is leased.
    lease_run_id     bigint,
    fence            bigint NOT NULL DEFAULT 0,
    errors           bigint NOT NULL DEFAULT 0,
    missing          bigint NOT NULL DEFAULT 0,
    ended_at_ms      bigint,
    forget_at_ms     bigint,
    CHECK ((upstream IS NULL) = (upstream_task_id IS NULL)),
    CHECK ((ended_at_ms IS NULL) = (forget_at_ms IS NULL))
  );
  CREATE INDEX task_due ON task (upstream, next_poll_at_ms) WHERE ended_at_ms IS NULL;
  -- Open by another column than for the others, so that no planner walks along one of those to count the tasks of a key.
  CREATE INDEX task_open_of_key ON task (key_id) WHERE forget_at_ms IS NULL;
  CREATE INDEX task_overdue ON task (deadline_at_ms) WHERE ended_at_ms IS NULL;
`;

/** By the vendor's id, which two tasks must not share. Not unique, so that books in which two do can still be opened. */
export const tasksAtVendor = `
  CREATE INDEX task_at_vendor ON task (upstream_task_id, upstream) WHERE upstream_task_id IS NOT NULL;
`;
