/** Since the journal, only payments are rows here, and charges are seen through a view (journal.ts). */
export const entries = `
  CREATE TABLE entry (
    transfer_id   TEXT NOT NULL,
    kind          TEXT NOT NULL CHECK (kind = 'charge' OR kind = 'write_off' OR kind = 'top_up' OR kind = 'grant' OR kind = 'adjustment'),
    party         TEXT NOT NULL,
    amount_micros INTEGER NOT NULL,
    memo          TEXT,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (transfer_id, kind, party)
  ) STRICT, WITHOUT ROWID;
  CREATE TRIGGER entry_is_never_changed BEFORE UPDATE ON entry
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
  CREATE TRIGGER entry_is_never_removed BEFORE DELETE ON entry
    BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END;
`;
