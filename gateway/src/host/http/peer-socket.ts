/** What the listener needs of a socket. */
export interface PeerSocket {
  readonly remoteAddress: string;
  /** Returns how many bytes it took, or a negative number when the peer is gone. */
  write(bytes: string | Uint8Array, byteOffset?: number, byteLength?: number): number;
  pause(): void;
  resume(): void;
  /** Tells the other side that nothing more comes, and still listens to it. */
  shutdown(): void;
  /** Lets go of it. What was sent is still delivered. */
  end(): void;
  /** Resets it: what was sent may be lost, and the other side sees that. */
  terminate(): void;
}
