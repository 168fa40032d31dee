import { NotWritten } from "../../ledger/store-errors.ts";
import type { DataPlace } from "../data-place.ts";
import { checkBounds } from "./server/check-bounds.ts";
import { checkStatements } from "./server/check-statements.ts";
import { openDatabase, type Database } from "./server/database.ts";
import { isPooler, isUnreached } from "./server/failures.ts";
import { findSecret } from "./installation-rows.ts";
import { hasSchema, lookAtSchema } from "./schema/migrate.ts";
import { openPostgresStore } from "./postgres-store.ts";
import { messageOf } from "../../platform/error-message.ts";

/** A database, for any number of servers. */
export function postgresPlace(url: string, monotonicMs: () => number): DataPlace {
  const name = withoutPassword(url);

  const reached = <Opened>(open: () => Promise<Opened>): Promise<Opened> => naming(name, open);

  const briefly = <Found>(use: (db: Database) => Promise<Found>): Promise<Found> =>
    reached(async () => {
      const db = openDatabase({ url, monotonicMs, connectionsMax: 1 });
      try {
        return await use(db);
      } finally {
        await db.close();
      }
    });

  const refuseBackup = async (): Promise<never> => {
    throw new Error(
      `The data is in ${name}: back it up and restore it with Postgres' own programs (pg_dump, pg_restore), ` +
        "and keep TOLLGATE_SECRET beside it, without which no key can be recognised.",
    );
  };

  return {
    name,
    hasData: () => briefly(hasSchema),
    look: async () => {
      await reached(() => checkStatements({ url, monotonicMs }));
      return briefly(async (db) => {
        // A server that takes no writes answers all questions.
        await db.ping();
        await checkBounds(db.read);
        const seen = await lookAtSchema(db.read);
        return seen && { ...seen, fingerprint: await findSecret(db) };
      });
    },
    // Only the server knows its disk, and says so when it is looked at.
    checkRoom: () => {},
    explain: (error) => error,
    openForPeople: (events) =>
      reached(() => openPostgresStore({ url, connectionsMax: connectionsOfPeopleMax, ...events })),
    openForServing: async ({ onBrokenDisk: _, ...events }) => ({
      store: await reached(() => openPostgresStore({ url, ...events })),
      leave: () => {},
    }),
    backUp: refuseBackup,
    backUpInto: refuseBackup,
    restore: refuseBackup,
  };
}

const connectionsOfPeopleMax = 2;

/** The driver's words name neither the server nor the database, and the reader has to mend one of the two. */
export async function naming<Opened>(name: string, open: () => Promise<Opened>): Promise<Opened> {
  try {
    return await open();
  } catch (error) {
    throw new Error(`${name} cannot be used: ${whyNot(error)}`, { cause: error });
  }
}

/**
 * Callers whose wait is too long hear that the store was busy. Whoever opens it can fix the cause, and so is told what it
 * is.
 */
function whyNot(error: unknown): string {
  const { cause = error } = error instanceof NotWritten ? error : {};
  if (isPooler(cause)) {
    return (
      `${messageOf(cause)}. So says a pooler such as PgBouncer, which better stays out of the way: name the server itself in ` +
      "TOLLGATE_STORE. Where that cannot be, each connection needs a session of its own (pool_mode = session) or, from PgBouncer " +
      "1.21 on, its own statements (max_prepared_statements)."
    );
  }
  if (!isUnreached(cause)) return messageOf(cause);
  return `no connection to it could be made (${messageOf(cause)}). Is it running, and are its host and port right?`;
}

/** For people and logs. */
function withoutPassword(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `postgres://${hostname}${port === "" ? "" : `:${port}`}${pathname}`;
}
