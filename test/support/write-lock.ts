import { Database } from "bun:sqlite";

/** Takes the write lock of a database file, as another process would; who has called the answer once has given it back. */
export function takeWriteLock(databasePath: string): () => void {
  const other = new Database(databasePath);
  other.run("BEGIN IMMEDIATE");
  let isHeld = true;
  return () => {
    if (!isHeld) return;
    isHeld = false;
    other.run("COMMIT");
    other.close();
  };
}
