/** Whoever sent a request, as the listener knows them. */
export interface Peer {
  readonly address: () => string | undefined;
  /** From here on it is their turn: to read the answer, or to ask again. */
  readonly answered: (response: Response) => void;
}

export const unknownPeer: Peer = { address: () => undefined, answered: () => {} };
