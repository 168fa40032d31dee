export const installation = `
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
`;
