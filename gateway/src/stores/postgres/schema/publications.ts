export const publications = `
  CREATE TABLE publication (
    kind            id NOT NULL CHECK (kind IN ('contract', 'sales')),
    content_hash    id NOT NULL,
    revision        text NOT NULL,
    published_at_ms bigint NOT NULL,
    packed          bytea NOT NULL,
    PRIMARY KEY (kind, content_hash)
  );
  CREATE INDEX publication_by_age ON publication (kind, published_at_ms);
`;
