import type { Database } from "./database.ts";

/** The fingerprint of the secret that the data belongs to: the first that claimed it, of however many at once. */
export const claimSecret = (db: Database, fingerprint: string): Promise<string> =>
  db.write(async (query) => {
    await query("INSERT INTO installation VALUES ('secret_fingerprint', $1) ON CONFLICT DO NOTHING", [
      fingerprint,
    ]);
    const [claimed] = await query<{ value: string }>(select);
    return claimed?.value ?? fingerprint;
  });

export async function findSecret(db: Database): Promise<string | undefined> {
  const [claimed] = await db.read<{ value: string }>(select);
  return claimed?.value;
}

const select = "SELECT value FROM installation WHERE name = 'secret_fingerprint'";
