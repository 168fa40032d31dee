import { closeSync, fdatasync, openSync, realpathSync } from "node:fs";
import { promisify } from "node:util";

const sync = promisify(fdatasync);

/** Brings what SQLite has written to its log to the disk, beside other work. */
export interface LogSync {
  readonly run: () => Promise<void>;
  readonly close: () => void;
}

/**
 * Through a handle of its own, kept once it was needed, because a new one may not be told that an earlier write failed.
 * SQLite keeps its locks on the other two files, so closing this one loses none, and it removes the log with its last
 * connection only.
 */
export function createLogSync(databasePath: string): LogSync {
  let handle: number | undefined;
  return {
    run: async () => {
      handle ??= openSync(`${realpathSync(databasePath)}-wal`, "r+");
      await sync(handle);
    },
    close: () => {
      if (handle !== undefined) closeSync(handle);
      handle = undefined;
    },
  };
}
