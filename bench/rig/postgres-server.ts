// A Postgres as operators run it: with everything on a disk before it is confirmed, and not in memory that poses as one.

import { postgresWanted, findPostgres, startPrivatePostgres } from "../../test/services/postgres.ts";
import { openTemporaryFolder, removeOldFolders, undoAtExit } from "./leftovers.ts";

export interface PostgresServer {
  readonly url: string;
  readonly pid: number;
  readonly close: () => Promise<void>;
}

/** Kept over restarts of the machine, so on a disk, and open to the user whom Postgres runs as, unlike many a home. */
const home = "/var/tmp";

export const whyNoPostgres = (): string | undefined =>
  findPostgres() === undefined ? `there is no Postgres here. ${postgresWanted}` : undefined;

export async function openPostgresServer(): Promise<PostgresServer> {
  removeOldFolders(home);
  const folder = openTemporaryFolder("postgres", home);
  const server = await startPrivatePostgres({ durableIn: folder.path });
  const pid = server.pid();
  if (pid === undefined) throw new Error("Postgres ended as soon as it had started.");
  // Before its folder goes, when the run is interrupted.
  const forget = undoAtExit(() => process.kill(pid, "SIGQUIT"));
  return {
    url: server.url,
    pid,
    close: async () => {
      await server.close();
      forget();
      folder.remove();
    },
  };
}
