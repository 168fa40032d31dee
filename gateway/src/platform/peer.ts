/** Whoever sent a request, as the listener knows them. */
export interface Peer {
  readonly address: () => string | undefined;
  /** Whether nobody is there any more to hear an answer. */
  readonly hasLeft: () => boolean;
}

export const unknownPeer: Peer = { address: () => undefined, hasLeft: () => false };
