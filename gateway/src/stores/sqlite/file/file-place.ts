import { constants, type Database } from "bun:sqlite";
import { StoreGone } from "../../../ledger/store-errors.ts";

/**
 * Whether the file was moved, removed or replaced since it was opened. SQLite goes on writing to it all the same, under
 * whatever name or under none, and what is written to a file without a name is gone with the process.
 */
export class FilePlace {
  readonly #db: Database;
  readonly #path: string;
  #isElsewhere = false;

  constructor(db: Database, path: string) {
    this.#db = db;
    this.#path = path;
  }

  /** Asks the system: once for each transaction, because to ask for each call takes longer than some steps of it. */
  look(): void {
    const answer = new Int32Array(2);
    this.#db.fileControl(constants.SQLITE_FCNTL_HAS_MOVED, answer);
    this.#isElsewhere = answer[0] !== 0;
  }

  /** Why nothing new may be written, as far as it was seen; where it was elsewhere, it may be back. */
  whyGone(): StoreGone | undefined {
    if (this.#isElsewhere) this.look();
    return this.#isElsewhere ? new StoreGone(this.#path) : undefined;
  }
}
