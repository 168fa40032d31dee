import type { Database } from "./server/database.ts";
import type { Query } from "./server/query.ts";

/** The fingerprint of the secret that the data belongs to: the first that claimed it, of however many at once. */
export const claimSecret = (db: Database, fingerprint: string): Promise<string> =>
  db.writePatiently((query) => claimSecretIn(query, fingerprint));

/** The same, inside a transaction. */
export async function claimSecretIn(query: Query, fingerprint: string): Promise<string> {
  await query("INSERT INTO installation VALUES ('secret_fingerprint', $1) ON CONFLICT DO NOTHING", [
    fingerprint,
  ]);
  return (await findSecretIn(query)) ?? fingerprint;
}

export const findSecret = (db: Database): Promise<string | undefined> => findSecretIn(db.read);

async function findSecretIn(query: Query): Promise<string | undefined> {
  const [claimed] = await query<{ value: string }>(
    "SELECT value FROM installation WHERE name = 'secret_fingerprint'",
  );
  return claimed?.value;
}
