export const calls = `
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
`;
