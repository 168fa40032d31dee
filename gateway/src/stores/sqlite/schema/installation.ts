export const installation = `
  CREATE TABLE installation (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE run (
    id            INTEGER PRIMARY KEY,
    started_at_ms INTEGER NOT NULL
  ) STRICT;
`;
