// How long a write waits for a store that is busy or away, in every store alike.

/**
 * For a caller who has been given nothing yet. Long enough for another's lock or a lost connection to pass; then it is
 * told to come again, sooner than most callers give up by themselves.
 */
export const patienceOfCallersMs = 2_000;

/** The work is done and paid for upstream; booking its end is worth a longer wait than beginning it. */
export const endingPatienceMs = 20_000;

/** The vendor has taken the task; writing its id down is worth a long wait. */
export const beginPatienceMs = 20_000;

/** A platform gives a rotated token once; storing it is worth a longer wait than what can be asked for again. */
export const tokensPatienceMs = 20_000;
