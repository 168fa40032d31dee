import { boundsUsualMs } from "./connections.ts";
import type { Query } from "./query.ts";

/**
 * Throws where what a connection asks for at its beginning did not reach the server. Poolers are often told to pass over it;
 * a process that stopped in the midst of a transaction would then keep its accounts from all others for as long as it stands
 * still. A server may give its role the same bounds, which reach it whatever stands between.
 */
export async function checkBounds(query: Query): Promise<void> {
  const names = Object.keys(boundsUsualMs);
  const unbounded = await query<{ name: string; role: string }>(
    `SELECT name, quote_ident(current_user) AS role FROM pg_settings
     WHERE name IN (${names.map((name) => `'${name}'`).join(", ")}) AND setting = '0' ORDER BY name`,
  );
  if (unbounded.length === 0) return;
  const missing = unbounded.map(({ name }) => name).join(", ");
  throw new Error(
    `what stands before it, most likely a pooler such as PgBouncer, passes over ${missing}, without which a node that stops ` +
      "could keep accounts from all others. Name the server itself in TOLLGATE_STORE, or give the bounds to its role: " +
      Object.entries(boundsUsualMs)
        .filter(([bound]) => unbounded.some(({ name }) => name === bound))
        .map(([bound, ms]) => `ALTER ROLE ${unbounded[0]?.role} SET ${bound} = ${ms};`)
        .join(" "),
  );
}
