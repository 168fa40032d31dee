/** Whoever sent a request, as the listener knows them. */
export interface Peer {
  readonly address: () => string | undefined;
}

export const unknownPeer: Peer = { address: () => undefined };
