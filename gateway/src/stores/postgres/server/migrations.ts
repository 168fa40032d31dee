import type { Database } from "./database.ts";
import type { Query } from "./query.ts";

// Whatever names a row is compared byte by byte, as everywhere else in the house, whatever language the server speaks: the
// order of a language changes with the server's libraries, and an index that is unique in it would not be any more.
//
// Each migration brings the schema one version forward and is never edited once released.
// The row of `schema_version` says how many have run.

export const migrations: readonly string[] = [
  `
  CREATE DOMAIN id AS text COLLATE "C";

  CREATE TABLE installation (
    name  id PRIMARY KEY,
    value text NOT NULL
  );

  -- A process that serves, from its start to its end. While it lives its beats grow.
  CREATE TABLE run (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    started_at_ms bigint NOT NULL,
    beats         bigint NOT NULL DEFAULT 0,
    ended_at_ms   bigint
  );
  CREATE INDEX run_open ON run (id) WHERE ended_at_ms IS NULL;

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

  CREATE TABLE price (
    version      id PRIMARY KEY,
    operation_id text NOT NULL,
    model        text,
    unit_prices  text NOT NULL
  );

  CREATE TABLE oauth_grant (
    id              id PRIMARY KEY,
    account_id      id NOT NULL REFERENCES account (id),
    key_id          id NOT NULL REFERENCES key (id),
    client_id       text NOT NULL,
    client_name     text NOT NULL,
    redirect_host   text NOT NULL,
    scopes          text NOT NULL,
    per_call_micros bigint NOT NULL CHECK (per_call_micros >= 0),
    per_day_micros  bigint NOT NULL CHECK (per_day_micros >= 0),
    created_at_ms   bigint NOT NULL,
    expires_at_ms   bigint NOT NULL,
    revoked_at_ms   bigint
  );
  CREATE INDEX oauth_grant_of_account ON oauth_grant (account_id);

  CREATE TABLE grant_day (
    grant_id     id NOT NULL REFERENCES oauth_grant (id),
    day_start_ms bigint NOT NULL,
    spent_micros bigint NOT NULL CHECK (spent_micros >= 0),
    held_micros  bigint NOT NULL CHECK (held_micros >= 0),
    PRIMARY KEY (grant_id, day_start_ms)
  );

  -- What a call refers to was looked at, and mostly locked, by whoever writes the call, and cannot go away: nothing of it is
  -- ever removed. Foreign keys would look at all of it again for each call, and have all processes mark the same few rows.
  CREATE TABLE call (
    id                  id PRIMARY KEY,
    account_id          id NOT NULL,
    key_id              id NOT NULL,
    operation_id        text NOT NULL,
    model               text,
    state               text NOT NULL CHECK (state IN ('held', 'dispatched', 'settled', 'released', 'unknown')),
    outcome             text CHECK (outcome IN ('succeeded', 'failed', 'unknown')),
    held_micros         bigint NOT NULL CHECK (held_micros >= 0),
    value_micros        bigint NOT NULL DEFAULT 0 CHECK (value_micros >= 0),
    charged_micros      bigint NOT NULL DEFAULT 0,
    written_off_micros  bigint NOT NULL DEFAULT 0 CHECK (written_off_micros >= 0),
    price_version       id NOT NULL,
    multiplier_ppm      bigint NOT NULL CHECK (multiplier_ppm >= 0),
    budget_day_start_ms bigint,
    grant_id            id,
    used                text NOT NULL DEFAULT '{}',
    usage_source        text NOT NULL DEFAULT 'none' CHECK (usage_source IN ('provider', 'estimated', 'none')),
    progress            text,
    http_status         bigint,
    attempts            text NOT NULL DEFAULT '[]',
    run_id              bigint NOT NULL,
    created_at_ms       bigint NOT NULL,
    dispatched_at_ms    bigint,
    settled_at_ms       bigint,
    CHECK (charged_micros BETWEEN 0 AND held_micros),
    CHECK ((state IN ('settled', 'released')) = (settled_at_ms IS NOT NULL))
  );
  CREATE INDEX call_of_account ON call (account_id, id);
  CREATE INDEX call_ended ON call (account_id, settled_at_ms) WHERE settled_at_ms IS NOT NULL;
  CREATE INDEX call_open ON call (run_id) WHERE settled_at_ms IS NULL;

  -- What is committed in the same breath cannot be looked at by whoever wrote it.
  CREATE FUNCTION check_written(written bigint, wanted bigint) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
      IF written <> wanted THEN RAISE EXCEPTION 'the books took % of % rows', written, wanted; END IF;
    END $$;

  CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION '%', TG_ARGV[0]; END $$;

  CREATE TRIGGER ended_call_is_never_changed BEFORE UPDATE ON call FOR EACH ROW WHEN (old.settled_at_ms IS NOT NULL)
    EXECUTE FUNCTION refuse_change('a call that has ended is never changed');
  CREATE TRIGGER call_is_never_removed BEFORE DELETE OR UPDATE OF id ON call FOR EACH ROW
    EXECUTE FUNCTION refuse_change('calls are never removed');
  CREATE TRIGGER account_is_never_removed BEFORE DELETE OR UPDATE OF id ON account FOR EACH ROW
    EXECUTE FUNCTION refuse_change('accounts are never removed');
  CREATE TRIGGER key_is_never_removed BEFORE DELETE OR UPDATE OF id ON key FOR EACH ROW
    EXECUTE FUNCTION refuse_change('keys are never removed');
  CREATE TRIGGER price_is_never_removed BEFORE DELETE OR UPDATE ON price FOR EACH ROW
    EXECUTE FUNCTION refuse_change('prices are never changed or removed');
  CREATE TRIGGER grant_is_never_removed BEFORE DELETE OR UPDATE OF id ON oauth_grant FOR EACH ROW
    EXECUTE FUNCTION refuse_change('grants are never removed');
  CREATE TRIGGER run_is_never_removed BEFORE DELETE OR UPDATE OF id ON run FOR EACH ROW
    EXECUTE FUNCTION refuse_change('runs are never removed');

  CREATE TABLE payment (
    transfer_id   id NOT NULL,
    kind          id NOT NULL CHECK (kind IN ('top_up', 'grant', 'adjustment')),
    party         id NOT NULL,
    amount_micros bigint NOT NULL,
    memo          text,
    created_at_ms bigint NOT NULL,
    PRIMARY KEY (transfer_id, kind, party)
  );
  CREATE INDEX payment_of_party ON payment (party, created_at_ms);
  CREATE TRIGGER payment_is_never_changed BEFORE UPDATE OR DELETE ON payment FOR EACH ROW
    EXECUTE FUNCTION refuse_change('payments are append-only');

  CREATE VIEW entry (transfer_id, kind, party, amount_micros, memo, created_at_ms) AS
    SELECT transfer_id, kind, party, amount_micros, memo, created_at_ms FROM payment UNION ALL
    SELECT id, 'charge', account_id, -charged_micros, NULL, settled_at_ms FROM call WHERE charged_micros <> 0 UNION ALL
    SELECT id, 'charge', 'house:revenue', charged_micros, NULL, settled_at_ms FROM call WHERE charged_micros <> 0 UNION ALL
    SELECT id, 'write_off', 'house:write_offs', -written_off_micros, NULL, settled_at_ms FROM call
    WHERE written_off_micros <> 0 UNION ALL
    SELECT id, 'write_off', 'house:revenue', written_off_micros, NULL, settled_at_ms FROM call
    WHERE written_off_micros <> 0;

  CREATE TABLE usage_bucket (
    account_id         id NOT NULL,
    width_seconds      bigint NOT NULL CHECK (width_seconds IN (1, 60, 3600, 86400)),
    start_seconds      bigint NOT NULL,
    key_id             id NOT NULL,
    requests           bigint NOT NULL,
    failed_requests    bigint NOT NULL,
    input_tokens       bigint NOT NULL,
    output_tokens      bigint NOT NULL,
    cache_read_tokens  bigint NOT NULL,
    cache_write_tokens bigint NOT NULL,
    value_micros       bigint NOT NULL,
    charged_micros     bigint NOT NULL,
    PRIMARY KEY (account_id, width_seconds, start_seconds, key_id)
  );

  -- Which call has which idempotency key. It is written with the call, which is why nothing is looked up for it either.
  CREATE TABLE claim (
    account_id    id NOT NULL,
    key_hash      bytea NOT NULL,
    fingerprint   bytea NOT NULL,
    call_id       id NOT NULL,
    created_at_ms bigint NOT NULL,
    PRIMARY KEY (account_id, key_hash)
  );
  CREATE INDEX claim_by_age ON claim (created_at_ms);

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

  CREATE TABLE quota_application (
    id            id PRIMARY KEY,
    account_id    id NOT NULL REFERENCES account (id),
    key_id        id NOT NULL REFERENCES key (id),
    expected_rpm  bigint NOT NULL,
    expected_tpm  bigint NOT NULL,
    models        text NOT NULL,
    endpoints     text NOT NULL,
    use_case      text NOT NULL,
    key_hash      bytea,
    fingerprint   bytea,
    state         text NOT NULL CHECK (state IN ('open', 'approved', 'denied')),
    created_at_ms bigint NOT NULL,
    decided_at_ms bigint
  );
  CREATE INDEX quota_application_of_account ON quota_application (account_id, state);
  CREATE UNIQUE INDEX quota_application_once ON quota_application (account_id, key_hash) WHERE key_hash IS NOT NULL;

  CREATE TABLE link_attempt (
    state_hash    bytea PRIMARY KEY,
    id            id NOT NULL,
    key_id        id NOT NULL REFERENCES key (id),
    account_id    id NOT NULL REFERENCES account (id),
    upstream      text NOT NULL,
    scopes        text NOT NULL,
    salt          bytea NOT NULL,
    verifier      bytea NOT NULL,
    confirm       boolean NOT NULL,
    browser_hash  bytea,
    key_hash      bytea,
    fingerprint   bytea,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    used_at_ms    bigint
  );
  CREATE INDEX link_attempt_of_key ON link_attempt (key_id, created_at_ms);
  CREATE INDEX link_attempt_by_end ON link_attempt (expires_at_ms);
  CREATE UNIQUE INDEX link_attempt_once ON link_attempt (account_id, key_hash) WHERE key_hash IS NOT NULL;

  CREATE TABLE link (
    id                id PRIMARY KEY,
    key_id            id NOT NULL REFERENCES key (id),
    account_id        id NOT NULL REFERENCES account (id),
    upstream          text NOT NULL,
    user_id           text,
    username          text,
    scopes            text NOT NULL,
    version           bigint NOT NULL,
    salt              bytea NOT NULL,
    access_token      bytea NOT NULL,
    refresh_token     bytea,
    expires_at_ms     bigint,
    renewing_until_ms bigint,
    undo_hash         bytea,
    undo_until_ms     bigint,
    created_at_ms     bigint NOT NULL,
    lapsed_at_ms      bigint,
    revoked_at_ms     bigint,
    CHECK ((user_id IS NULL) = (username IS NULL))
  );
  CREATE UNIQUE INDEX link_live ON link (key_id, upstream) WHERE revoked_at_ms IS NULL;
  CREATE INDEX link_of_account ON link (account_id, created_at_ms);
  CREATE INDEX link_of_key ON link (key_id, created_at_ms);
  CREATE UNIQUE INDEX link_undo ON link (undo_hash) WHERE undo_hash IS NOT NULL;

  CREATE TABLE publication (
    kind            id NOT NULL CHECK (kind IN ('contract', 'sales')),
    content_hash    id NOT NULL,
    revision        text NOT NULL,
    published_at_ms bigint NOT NULL,
    packed          bytea NOT NULL,
    PRIMARY KEY (kind, content_hash)
  );
  CREATE INDEX publication_by_age ON publication (kind, published_at_ms);

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

  CREATE TABLE approval (
    id            id PRIMARY KEY,
    account_id    id NOT NULL REFERENCES account (id),
    key_id        id NOT NULL REFERENCES key (id),
    grant_id      id REFERENCES oauth_grant (id),
    asker         text NOT NULL,
    created_at_ms bigint NOT NULL,
    expires_at_ms bigint NOT NULL,
    decision      text CHECK (decision IN ('approved', 'denied')),
    decided_at_ms bigint,
    CHECK ((decision IS NULL) = (decided_at_ms IS NULL))
  );
  CREATE INDEX approval_of_account ON approval (account_id, expires_at_ms);
  CREATE INDEX approval_by_expiry ON approval (expires_at_ms);

  CREATE TABLE approval_item (
    approval_id     id NOT NULL REFERENCES approval (id),
    position        bigint NOT NULL,
    operation_id    text NOT NULL,
    digest          bytea NOT NULL,
    cap_micros      bigint NOT NULL CHECK (cap_micros >= 0),
    expected_micros bigint NOT NULL CHECK (expected_micros >= 0),
    summary         text NOT NULL,
    arguments       text NOT NULL,
    arguments_cut   boolean NOT NULL,
    call_id         id REFERENCES call (id),
    PRIMARY KEY (approval_id, position)
  );
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

  // A key counts its days from its first budget on, and what it had spent until then is brought over (budget-days.ts). A node
  // that has looked at an account's keys need not look again until another one of them begins.
  `
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
  `,

  // Whose an answer is that its vendor keeps. The account is no reference, for which its row would be locked: who keeps an
  // answer waits for nobody who moves money.
  `
  CREATE TABLE kept_answer (
    id_hash    bytea NOT NULL,
    account_id id NOT NULL,
    upstream   text NOT NULL,
    until_ms   bigint NOT NULL,
    PRIMARY KEY (id_hash, account_id)
  );
  CREATE INDEX kept_answer_by_end ON kept_answer (until_ms);
  `,
];

/** Any number, as long as nobody else who locks by number in this database has the same. */
const migrationLock = 7_025_193_811n;
const migrationPatienceMs = 60_000;

/**
 * Brings the database forward to this program's schema. Refuses one that lacks letters, one made by a newer program, and to
 * change it under nodes of an earlier version: they would go on writing what they find no place for any more.
 */
export async function migrate(
  db: Database,
  watchedMs: number,
  steps: readonly string[] = migrations,
): Promise<{ readonly from: number; readonly to: number } | undefined> {
  await checkEncoding(db.read);
  const found = await versionOf(db.read);
  if (found === steps.length) return undefined;
  const runs = found > 0 && found < steps.length ? await watchRuns(db, watchedMs) : [];
  return db.write(
    async (query) => {
      // Several processes start at once where a deployment is new.
      await query("SELECT pg_advisory_xact_lock($1)", [migrationLock]);
      await query("CREATE TABLE IF NOT EXISTS schema_version (version bigint NOT NULL)");
      const version = await versionOf(query);
      if (version === steps.length) return undefined;
      if (version > steps.length) throw new Error(newerVersion(version, steps));
      if (version > 0) await endRuns(query, runs);
      for (const step of steps.slice(version)) await query(step);
      await query("DELETE FROM schema_version");
      await query("INSERT INTO schema_version VALUES ($1)", [steps.length]);
      return version === 0 ? undefined : { from: version, to: steps.length };
    },
    migrationPatienceMs,
    { evenInDoubt: true, isLong: true },
  );
}

/** Throws when the database has been brought to another schema than this program's, which then must not write to it. */
export async function checkVersion(query: Query): Promise<void> {
  const version = await versionOf(query);
  if (version !== migrations.length) throw new Error(newerVersion(version, migrations));
}

/** Whether any Tollgate has been here. */
export const hasSchema = async (db: Database): Promise<boolean> => (await versionOf(db.read)) > 0;

/**
 * The schema that is there; undefined where no Tollgate has been. Throws for that of a newer program, and for a database that
 * lacks letters.
 */
export async function lookAtSchema(
  query: Query,
): Promise<{ readonly schema: number; readonly schemaKnown: number } | undefined> {
  await checkEncoding(query);
  const schema = await versionOf(query);
  if (schema > migrations.length) throw new Error(newerVersion(schema, migrations));
  return schema === 0 ? undefined : { schema, schemaKnown: migrations.length };
}

/** Callers write in all letters, and what one of them wrote must not keep the end of its call from being written. */
async function checkEncoding(query: Query): Promise<void> {
  const [shown] = await query<{ server_encoding: string }>("SHOW server_encoding");
  const encoding = shown?.server_encoding ?? "unknown";
  // The second one takes every byte for what it is.
  if (encoding !== "UTF8" && encoding !== "SQL_ASCII")
    throw new Error(`its encoding is ${encoding}; make it with ENCODING 'UTF8'.`);
}

async function versionOf(query: Query): Promise<number> {
  const [found] = await query<{ there: boolean }>(
    "SELECT to_regclass('schema_version') IS NOT NULL AS there",
  );
  if (found?.there !== true) return 0;
  const [row] = await query<{ version: bigint }>("SELECT version FROM schema_version");
  return Number(row?.version ?? 0n);
}

const newerVersion = (version: number, { length }: readonly string[]): string =>
  `The data was written by a newer Tollgate (schema ${version}; this program knows ${length}). ` +
  "Start that version, or restore an older backup.";

interface SeenRun {
  readonly id: bigint;
  readonly beats: bigint;
}

const lookAtRuns = (query: Query): Promise<readonly SeenRun[]> =>
  query<SeenRun>("SELECT id, beats FROM run WHERE ended_at_ms IS NULL");

/** Those that nobody has ended, as they were before so long a time that whoever lives has shown it meanwhile. */
async function watchRuns(db: Database, watchedMs: number): Promise<readonly SeenRun[]> {
  const seen = await lookAtRuns(db.read);
  if (seen.length > 0) await Bun.sleep(watchedMs);
  return seen;
}

/** Ends runs that stood still, so that whoever comes back under one of them has to ask whether it still may. */
async function endRuns(query: Query, before: readonly SeenRun[]): Promise<void> {
  // Nobody begins one now, or shows that it lives.
  await query("LOCK TABLE run IN EXCLUSIVE MODE");
  const beats = new Map(before.map((run) => [run.id, run.beats]));
  const alive = (await lookAtRuns(query)).filter((run) => beats.get(run.id) !== run.beats);
  if (alive.length > 0) {
    throw new Error(
      `Nodes of an earlier version are serving (${alive.length}). Stop them all before you start this one, ` +
        "or use the command of that version.",
    );
  }
  await query(
    "UPDATE run SET ended_at_ms = (extract(epoch FROM now()) * 1000)::bigint WHERE ended_at_ms IS NULL",
  );
}
