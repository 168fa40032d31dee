/** What the listener needs of a socket. */
export interface PeerSocket {
  readonly remoteAddress: string;
  /** Says how many bytes it took, or less than none when nobody is there. */
  write(bytes: string | Uint8Array, byteOffset?: number, byteLength?: number): number;
  pause(): void;
  resume(): void;
  /** Says that nothing more comes, and still hears what the other side says. */
  shutdown(): void;
  /** Lets go of it. What was sent is still delivered. */
  end(): void;
  /** Breaks it: what was sent is lost, and the other side is told so. */
  terminate(): void;
}
