// What a vendor can do to its caller, good and bad; play-answer.ts plays it onto a socket.

import type { HeaderPair } from "./http-wire.ts";

/** An answer sent as written; only the framing is added, and only where no header gives it. */
export interface Answer {
  readonly kind?: undefined;
  readonly status: number;
  readonly headers?: readonly HeaderPair[] | Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Sent chunk by chunk with chunked framing, instead of `body`. */
  readonly chunks?: readonly string[];
  /** Events of a generated answer, instead of `body`: the vendor is told how far they got. */
  readonly stream?: EventStream;
}

export interface StreamEvent {
  /** The event as it goes on the wire, with LF and its blank line. */
  readonly wire: string;
  /** How much of the output has been generated once this is sent, from 0 to 1. */
  readonly share: number;
  /** The event of a vendor that tells no usage; null when it then sends none. Default: the same. */
  readonly unmetered?: string | null;
}

export interface EventStream {
  readonly events: readonly StreamEvent[];
  /** How this vendor says in the middle of an answer that it gave up. */
  readonly error: string;
  /** One more event with some of the answer's text. */
  readonly say: (text: string) => string;
  /** What keeps a connection alive and says nothing. */
  readonly heartbeat: string;
  readonly report: (progress: StreamProgress) => void;
}

export interface StreamProgress {
  /** Events sent, those beyond the answer (`endless`) included. */
  readonly events: number;
  readonly share: number;
  /** How many of the events were text beyond the answer. */
  readonly extra: number;
  /** The caller went away before the last event was sent. */
  readonly left: boolean;
  /** All events of the answer were sent. */
  readonly whole: boolean;
}

/** A stream told badly. Without a `fault` it is whole, only shaped or slow. */
export interface StreamScript {
  /** Events that go out before the fault; default 0. */
  readonly afterEvents?: number;
  /**
   * `reset`: RST. `close`: FIN in the middle of the body. `end`: the body ends in good order, too early.
   * `stall`: silence for `stallMs` (default for ever), then the rest. `error`: the vendor's own mid-stream error,
   * then the end. `long-line`: an event whose line has `lineBytes` (default 2 MiB; Infinity never ends), then the
   * rest. `endless`: text for ever. `heartbeats`: comments for ever.
   */
  readonly fault?: "reset" | "close" | "end" | "stall" | "error" | "long-line" | "endless" | "heartbeats";
  readonly stallMs?: number;
  readonly lineBytes?: number;
  /** A pause before each event but the first; between heartbeats 10 ms unless told. */
  readonly everyMs?: number;
  /** The vendor never says what it bills. */
  readonly withoutUsage?: boolean;
  readonly lineEnd?: "\n" | "\r\n" | "\r";
  /**
   * How events fall into writes (and chunks): one each; `odd`, cut inside characters, line ends and lines, so that a
   * write may hold the end of one event and the start of the next; or `together`, all at once.
   */
  readonly segments?: "each" | "odd" | "together";
}

/** What becomes of the connection: it serves on, or it ends by FIN, by RST, or never. */
export type Ending = "keep" | "close" | "reset" | "hang";

/** How far the vendor gets before it fails. */
interface Progress {
  /** Bytes of the handler's answer, head included, that still go out; a negative count is from its end. */
  readonly afterBytes?: number;
  /**
   * Runs the handler even if no byte goes out, so that the vendor's book has the charge although the
   * caller never learns of it: the outcome a gateway must call unknown.
   */
  readonly afterWork?: boolean;
}

type Misbehaviour =
  | { readonly kind: "handler" }
  /** The handler's stream, told as the script says; an answer that does not stream is sent as it is. */
  | ({ readonly kind: "stream" } & StreamScript)
  /** Ended by FIN, by RST, or never. */
  | ({ readonly kind: "close" | "reset" | "hang" } & Progress)
  | { readonly kind: "redirect"; readonly status: 301 | 302 | 307 | 308; readonly location: string }
  /** The handler's answer, announced longer by `missingBytes` (default 16) than it is, then FIN. */
  | { readonly kind: "truncated"; readonly missingBytes?: number }
  | { readonly kind: "garbage"; readonly bytes?: string | Uint8Array }
  /** A 200 whose chunks never stop; with `everyMs` a heartbeat rather than a flood. */
  | {
      readonly kind: "endless";
      readonly chunk?: string;
      readonly everyMs?: number;
      readonly contentType?: string;
    }
  /** A well-formed 200 of exactly `bytes` bytes of JSON. */
  | { readonly kind: "huge"; readonly bytes: number }
  /** The body of the handler's answer in pieces. */
  | { readonly kind: "slow"; readonly chunkBytes: number; readonly everyMs: number }
  /** `count` interim answers before the handler's; `Infinity` never comes to the point. */
  | { readonly kind: "interim-flood"; readonly count: number; readonly status?: 100 | 102 | 103 }
  /** Default: the true length, then one that would swallow 5 bytes more. */
  | { readonly kind: "two-content-lengths"; readonly values?: readonly [string, string] }
  | { readonly kind: "not-json"; readonly body?: string; readonly contentType?: string }
  /** gzip nobody asked for: the handler's answer, or `expandsToBytes` zeros; `layers` codings deep. */
  | { readonly kind: "gzip"; readonly layers?: number; readonly expandsToBytes?: number }
  /** The handler's answer with raw lines (latin1, may hold CR, LF, NUL) put among its headers. */
  | { readonly kind: "odd-header"; readonly lines: readonly string[] }
  /** Anything else: bytes as they are, and what becomes of the connection. */
  | {
      readonly kind: "bytes";
      readonly bytes: string | Uint8Array;
      readonly ending: Ending;
    };

export type ScriptedAnswer = Answer | Misbehaviour;

/** Header lines no honest vendor sends, for `{ kind: "odd-header" }`. */
export const oddHeaderLines = {
  latin1: "X-Odd: caf\xe9 \xff",
  control: "X-Odd: a\x01b\x7fc",
  nul: "X-Odd: a\0b",
  bareCr: "X-Odd: a\rX-Injected: 1",
  bareLf: "X-Odd: a\nX-Injected: 1",
  folded: "X-Odd: a\r\n folded",
  spaceBeforeColon: "X-Odd : a",
  noName: ": a",
  noColon: "X-Odd",
  underscore: "x_odd: a",
  huge: `X-Odd: ${"a".repeat(64 * 1024)}`,
} as const;
