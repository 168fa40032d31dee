/** Whoever sent a request, as the listener knows them. */
export interface Peer {
  readonly address: () => string | undefined;
  /** From here on it is their turn: to read the answer, which may come as a stream, or to ask again. */
  readonly answered: (how: "whole" | "streamed") => void;
}

export const unknownPeer: Peer = { address: () => undefined, answered: () => {} };
