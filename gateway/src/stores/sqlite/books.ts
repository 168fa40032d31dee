import type { GroupCommit } from "./group-commit.ts";
import type { Journal } from "./journal.ts";
import type { Standings } from "./standings.ts";

/** The books for everybody but the ledger, who keeps the journal: they always say everything. */
export interface Books {
  /** Reads with nothing left to post. */
  readonly read: <Found>(look: () => Found) => Promise<Found>;
  /** Writes what the ledger keeps figures of in memory; it looks at them anew afterwards. */
  readonly run: GroupCommit["run"];
}

export function createBooks(commits: GroupCommit, journal: Journal, standings: Standings): Books {
  return {
    read: (look) =>
      journal.isPosted()
        ? // A failure to read is the promise's, as it is where something is posted first.
          new Promise((resolve) => resolve(look()))
        : commits.run(() => {
            journal.post();
            return look();
          }),
    run: (write, patienceMs) =>
      commits.run(() => {
        journal.post();
        standings.forget();
        return write();
      }, patienceMs),
  };
}
