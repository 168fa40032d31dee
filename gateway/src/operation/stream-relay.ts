import type { TokenReading } from "./token-reading.ts";
import type { WithheldRefusal } from "./withheld-refusal.ts";

/** A streamed answer on its way from the upstream to the caller, in the caller's dialect. Never throws. */
export interface StreamRelay {
  /** From now on the bytes for the caller are handed over as they come; once. */
  readonly start: (taker: StreamTaker) => void;
  /** Nothing more is handed over until `resume`, and the upstream is kept waiting. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** How much was delivered so far, cheap enough to ask at every piece: bytes of text, or 1 for what has no measure. */
  readonly delivered: number;
  /** What passed so far; final once the end was told. */
  readonly read: () => StreamReading;
  /** What failed in code of ours, where something did: then it ended early, and that says nothing about its upstream. */
  readonly bug: { readonly error: unknown } | undefined;
  /** By which ids later calls may go on with what passed so far, where its vendor keeps it. */
  readonly keptIds: () => readonly string[];
  /** Ends the connection to the upstream; the end is then told. */
  readonly leave: () => void;
}

export interface StreamTaker {
  readonly onPiece: (bytes: Uint8Array) => void;
  /** Comes once, last. */
  readonly onEnd: () => void;
}

interface StreamReading {
  readonly tokens: TokenReading;
  /** Whether the stream ended as its protocol says it should, without an error. */
  readonly complete: boolean;
  /** Whether the vendor itself said how it ended, be it with an error; otherwise it was cut, or ended too early. */
  readonly told: boolean;
  /** Whether it was cut because the gateway stops and waits for no upstream any more. */
  readonly gatewayStopped: boolean;
  /** That error, where it was about the operator: what it would have been instead of an answer. */
  readonly refused?: WithheldRefusal | undefined;
}
