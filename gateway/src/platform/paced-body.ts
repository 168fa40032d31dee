/** Where the pieces of a body go. */
export interface Reader {
  /** Sends a piece off at once; what is still to be waited for when the reader is behind. Throws when it has left. */
  readonly send: (piece: Uint8Array | string) => Promise<void> | undefined;
}

/** A body that is written piece by piece and goes no faster than it is read: whoever does not wait fills the memory. */
export interface PacedBody {
  /** Sends the pieces, one after the other, and waits where it is told to; the body ends when all are taken. */
  readonly write: (reader: Reader) => Promise<void>;
  /** The reader has left. What is sent from now on is lost. */
  readonly cancel: () => void;
}
