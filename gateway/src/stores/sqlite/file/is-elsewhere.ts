import { constants, type Database } from "bun:sqlite";

/**
 * Whether the file was moved, removed or replaced since it was opened. SQLite goes on writing to it all the same, under
 * whatever name or under none, and what is written to a file without a name is gone with the process.
 */
export function isElsewhere(db: Database): boolean {
  const answer = new Int32Array(2);
  db.fileControl(constants.SQLITE_FCNTL_HAS_MOVED, answer);
  return answer[0] !== 0;
}
