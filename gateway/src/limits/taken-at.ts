declare const taken: unique symbol;

/**
 * Tells a limiter which take is meant when something of it comes back. Opaque: hand it back as it is. Only the limiter that
 * made it knows by what clock it is a time, and whether it says more than that.
 */
export type TakenAt = number & { readonly [taken]: true };

/** For limiters alone. The member exists for the compiler only, so any number may be called so. */
export const asTakenAt = (mark: number): TakenAt => mark as TakenAt;
