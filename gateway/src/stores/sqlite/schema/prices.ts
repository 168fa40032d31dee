export const prices = `
  CREATE TABLE price (
    version      TEXT PRIMARY KEY,
    operation_id TEXT NOT NULL,
    model        TEXT,
    unit_prices  TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
`;
