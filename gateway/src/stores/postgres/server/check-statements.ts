import type { ConnectionOptions } from "./connections.ts";
import { openDatabase } from "./database.ts";

/**
 * Throws where one connection meets what another was told. A pooler that gives connections out for a transaction, and does not
 * keep their statements apart, leaves those of one to the next, under the same names: most are refused, and one that is not
 * is somebody else's.
 */
export async function checkStatements(
  options: Pick<ConnectionOptions, "url" | "monotonicMs">,
): Promise<void> {
  for (const connection of ["the first", "the next"]) {
    const db = openDatabase({ ...options, connectionsMax: 1 });
    try {
      // Only what has a value is told under a name.
      await db.readPatiently("SELECT $1::text", [connection]);
    } finally {
      await db.close();
    }
  }
}
