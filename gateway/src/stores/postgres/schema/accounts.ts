export const accounts = `
  CREATE TABLE account (
    id                  id PRIMARY KEY,
    name                text NOT NULL,
    tier                text NOT NULL CHECK (tier IN ('free', 'starter', 'growth', 'enterprise')),
    plan_multiplier_ppm bigint NOT NULL CHECK (plan_multiplier_ppm >= 0),
    suspended           boolean NOT NULL DEFAULT false,
    posted_micros       bigint NOT NULL DEFAULT 0,
    held_micros         bigint NOT NULL DEFAULT 0 CHECK (held_micros >= 0),
    topped_up_micros    bigint NOT NULL DEFAULT 0 CHECK (topped_up_micros >= 0),
    charge_carry_atto   bigint NOT NULL DEFAULT 0 CHECK (charge_carry_atto BETWEEN 0 AND 999999999999),
    value_carry_pico    bigint NOT NULL DEFAULT 0 CHECK (value_carry_pico BETWEEN 0 AND 999999),
    rpm                 bigint CHECK (rpm > 0),
    tpm                 bigint CHECK (tpm > 0),
    concurrency         bigint CHECK (concurrency > 0),
    created_at_ms       bigint NOT NULL,
    CHECK (posted_micros - held_micros >= 0)
  );

  CREATE TABLE key (
    id                 id PRIMARY KEY,
    account_id         id NOT NULL REFERENCES account (id),
    name               text NOT NULL,
    scope              text NOT NULL CHECK (scope IN ('key', 'account')),
    budget_micros      bigint CHECK (budget_micros >= 0),
    budget_window      text CHECK (budget_window IN ('day', 'month', 'total')),
    allowed_models     text CHECK (json_typeof(allowed_models::json) = 'array'),
    allowed_operations text CHECK (json_typeof(allowed_operations::json) = 'array'),
    created_at_ms      bigint NOT NULL,
    expires_at_ms      bigint,
    revoked_at_ms      bigint,
    CHECK ((budget_micros IS NULL) = (budget_window IS NULL))
  );
  CREATE INDEX key_of_account ON key (account_id);

  CREATE TABLE key_secret (
    hash          bytea PRIMARY KEY,
    key_id        id NOT NULL REFERENCES key (id),
    last4         text NOT NULL,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint
  );
  CREATE INDEX key_secret_of_key ON key_secret (key_id);

  -- What a key with a budget spent and holds, day by day; a window is the sum of its days.
  CREATE TABLE budget (
    key_id       id NOT NULL REFERENCES key (id),
    day_start_ms bigint NOT NULL,
    spent_micros bigint NOT NULL CHECK (spent_micros >= 0),
    held_micros  bigint NOT NULL CHECK (held_micros >= 0),
    PRIMARY KEY (key_id, day_start_ms)
  );
`;

/**
 * A key counts its days from its first budget on, and what it had spent until then is brought over (budget-days.ts). A node
 * that has looked at an account's keys need not look again until another one of them begins.
 */
export const budgetDays = `
  ALTER TABLE key ADD COLUMN counts_days boolean NOT NULL DEFAULT false;
  ALTER TABLE account ADD COLUMN budgets_begun bigint NOT NULL DEFAULT 0;
  ALTER TABLE budget ADD COLUMN spent_before_micros bigint NOT NULL DEFAULT 0
    CHECK (spent_before_micros BETWEEN 0 AND spent_micros);

  UPDATE key SET counts_days = true
  WHERE budget_micros IS NOT NULL OR EXISTS (SELECT FROM budget WHERE key_id = key.id);
  INSERT INTO budget (key_id, day_start_ms, spent_micros, held_micros, spent_before_micros)
  SELECT key_id, settled_at_ms - settled_at_ms % 86400000, sum(charged_micros), 0, sum(charged_micros)
  FROM call JOIN key ON key.id = key_id
  WHERE counts_days AND budget_day_start_ms IS NULL AND charged_micros > 0
  GROUP BY 1, 2
  ON CONFLICT (key_id, day_start_ms) DO UPDATE SET
    spent_micros = budget.spent_micros + excluded.spent_micros, spent_before_micros = excluded.spent_before_micros;
  WITH counted AS (
    UPDATE call SET budget_day_start_ms = call.created_at_ms - call.created_at_ms % 86400000
    FROM key WHERE key.id = key_id AND counts_days AND settled_at_ms IS NULL AND budget_day_start_ms IS NULL
    RETURNING key_id, budget_day_start_ms, held_micros
  )
  INSERT INTO budget (key_id, day_start_ms, spent_micros, held_micros)
  SELECT key_id, budget_day_start_ms, 0, sum(held_micros) FROM counted GROUP BY 1, 2
  ON CONFLICT (key_id, day_start_ms) DO UPDATE SET held_micros = budget.held_micros + excluded.held_micros;
`;
