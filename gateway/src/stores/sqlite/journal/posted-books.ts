import type { Database } from "bun:sqlite";
import type { GroupCommit } from "../file/group-commit.ts";
import type { Journal } from "./journal.ts";
import type { Standings } from "./standings.ts";

/** The books for everybody but the ledger, which keeps the journal. They are always up to date. */
export interface PostedBooks {
  /** Reads with nothing left to post. Nobody else writes meanwhile, so this is for what is read in a moment. */
  readonly read: <Found>(look: () => Found) => Promise<Found>;
  /** Reads one moment with nothing left to post, however long that takes: others go on writing. */
  readonly readLong: <Found>(look: () => Found) => Promise<Found>;
  /** Writes what the ledger keeps figures of in memory; it looks at them anew afterwards. */
  readonly run: GroupCommit["run"];
}

/**
 * Between posting and looking a server rarely writes again: it found the file locked, and comes back after some
 * milliseconds. This many times in a row are no coincidence any more.
 */
const postingsMax = 50;

export function createPostedBooks(
  db: Database,
  commits: GroupCommit,
  journal: Journal,
  standings: Standings,
): PostedBooks {
  return {
    read: (look) =>
      journal.isPosted()
        ? // A failure to read is the promise's, as it is where something is posted first.
          new Promise((resolve) => resolve(look()))
        : commits.run(() => {
            journal.post();
            return look();
          }),
    readLong: async (look) => {
      // The first look at the journal begins the moment that is read; what others write from then on is not seen.
      const lookWhenPosted = db.transaction(() => (journal.isPosted() ? { found: look() } : undefined));
      for (let postings = 0; postings <= postingsMax; postings++) {
        const seen = lookWhenPosted();
        if (seen) return seen.found;
        await commits.run(journal.post);
      }
      throw new Error("The books are written to all the time; try again when there is less to do.");
    },
    run: (write, patienceMs) =>
      commits.run(() => {
        journal.post();
        standings.forget();
        return write();
      }, patienceMs),
  };
}
