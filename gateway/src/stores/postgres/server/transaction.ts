// How a transaction begins, and how one ends together with what it writes.

import type { ReservedSQL } from "bun";
import { InDoubt } from "../../../ledger/store-errors.ts";
import { isConnectionLost } from "./failures.ts";
import type { Query } from "./query.ts";

/** As a template with a value: behind a plain text the driver sends nothing until that is answered. */
export const begin = (query: Query, connection: ReservedSQL): Promise<unknown> =>
  Promise.all([connection`BEGIN`.execute(), query(waitForDisk, ["on"])]);

/**
 * Whoever is told that something is written relies on it after a crash of the server too, whatever its default is. Only what
 * waits for nothing is made stricter: an operator who has replicas may want more than this.
 */
const waitForDisk =
  "SELECT set_config('synchronous_commit', $1, true) WHERE current_setting('synchronous_commit') = 'off'";

/** The same on a connection that stays open: one that died quietly meanwhile is found out before anybody gives up. */
export async function beginSoon(query: Query, connection: ReservedSQL): Promise<void> {
  const silence = setTimeout(() => void connection.close({ timeout: 0 }).catch(() => {}), beginMs);
  try {
    await begin(query, connection);
  } finally {
    clearTimeout(silence);
  }
}

/** Beginning waits for no lock and no disk, whatever comes behind it: a server that is there answers at once. */
const beginMs = 1_000;

/**
 * A statement right behind which the commit is sent, so it must fail by itself when anything is wrong with what it wrote.
 * Texts and numbers only: these the driver never refuses to send, as it would a value that it does not know.
 */
export interface Write {
  readonly statement: string;
  readonly values: readonly (string | number)[];
}

/**
 * Everything is sent at once, in order, and done by the server one after the other. When a statement has failed there, those
 * behind it are refused and the commit is a rollback, which is what it then says of itself.
 */
export async function writeAndCommit(
  query: Query,
  connection: ReservedSQL,
  writes: readonly Write[],
): Promise<void> {
  const writing = writes.map(({ statement, values }) => query(statement, values));
  // An answer without rows, of which the driver tells what was done.
  const committing = connection<{ readonly command: string }>`COMMIT`.execute();
  const [committed, ...written] = await Promise.allSettled([committing, ...writing]);
  const failure = written.find((each) => each.status === "rejected");
  if (committed.status === "rejected") {
    const error: unknown = committed.reason;
    throw isConnectionLost(error) ? new InDoubt({ cause: error }) : error;
  }
  // What the server says that it has done; the driver's types leave it open.
  const { command } = committed.value as { readonly command: string };
  if (command === "COMMIT" && failure === undefined) return;
  // The driver did something else than it was told, so nobody knows what was written.
  if (command === "COMMIT") throw new InDoubt({ cause: failure?.reason });
  throw failure?.reason ?? new Error("The server rolled back what it should have committed.");
}
