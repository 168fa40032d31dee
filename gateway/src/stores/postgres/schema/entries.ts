export const entries = `
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
`;
