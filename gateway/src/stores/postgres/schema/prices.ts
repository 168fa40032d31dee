export const prices = `
  CREATE TABLE price (
    version      id PRIMARY KEY,
    operation_id text NOT NULL,
    model        text,
    unit_prices  text NOT NULL
  );
`;
