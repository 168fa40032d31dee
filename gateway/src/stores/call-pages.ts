// What pages of calls have in common, whatever they are read from.

import type { CallState } from "../ledger/call-record.ts";

/** The beginning of a list that starts with the newest call. */
export const behindAllIds = "\u{10FFFF}";

/** How many calls are looked at for one page that a filter selects. Whoever wants more goes on from there. */
export const lookedThroughUsualMax = 5_000;

/** Few calls are in these states at any time, so they are found without looking through all the others. */
export const openStates: ReadonlySet<CallState> = new Set(["held", "dispatched", "unknown"]);

/** Under which name the client of a call was let in; looked up for the few calls that are shown, and kept with none. */
export const clientName = "(SELECT client_name FROM oauth_grant WHERE oauth_grant.id = call.grant_id)";

/** How a call stands: nobody knows of one whose task was lost, though its row says that it was held or sent. */
export const stateNow = `CASE WHEN call.settled_at_ms IS NULL
    AND EXISTS (SELECT 1 FROM task WHERE task.call_id = call.id AND task.state = 'LOST') THEN 'unknown' ELSE call.state END`;
