import type { Database } from "bun:sqlite";

/** The fingerprint of the secret that the data belongs to: the first that claimed it. */
export function claimSecret(db: Database, fingerprint: string): string {
  db.query("INSERT INTO installation VALUES ('secret_fingerprint', ?1) ON CONFLICT DO NOTHING").run(
    fingerprint,
  );
  return findSecret(db) ?? fingerprint;
}

export const findSecret = (db: Database): string | undefined =>
  db.query<{ value: string }, []>("SELECT value FROM installation WHERE name = 'secret_fingerprint'").get()
    ?.value;
