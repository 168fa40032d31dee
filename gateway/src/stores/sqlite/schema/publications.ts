export const publications = `
  CREATE TABLE publication (
    kind            TEXT NOT NULL CHECK (kind = 'contract' OR kind = 'sales'),
    content_hash    TEXT NOT NULL,
    revision        TEXT NOT NULL,
    published_at_ms INTEGER NOT NULL,
    packed          BLOB NOT NULL,
    PRIMARY KEY (kind, content_hash)
  ) STRICT;
  CREATE INDEX publication_by_age ON publication (kind, published_at_ms);
`;
