import { isSuccessStatus, type NoAnswerReason } from "../../operation/exchanged.ts";
import type { Deadline, Waiting } from "../../platform/deadlines.ts";
import { endsBody, type Connection, type ConnectionUser } from "./connection.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import type { SseEvent } from "../dialects/dialect.ts";
import { openingBytesMax, StreamOpening, type BeginningReader } from "../streams/stream-opening.ts";
import { decompress } from "./decompress.ts";
import { ReceivedStream, type HttpStream, type StreamParts } from "./http-stream.ts";
import type { Origin } from "./origin.ts";
import type { OutgoingRequest } from "./request-bytes.ts";
import type { ResponseHead } from "./response-head.ts";
import { ResponseReader } from "./response-reader.ts";

export type HttpOutcome =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly contentType: string | undefined;
      readonly retryAfter: string | undefined;
      /** When the upstream says it answered, told beside Retry-After, which counts from then if it is a date. */
      readonly date: string | undefined;
      readonly body: Uint8Array;
    }
  | { readonly kind: "no_answer"; readonly reason: NoAnswerReason; readonly sent: boolean };

export interface ExchangeParts extends StreamParts {
  readonly pool: ConnectionPool;
  readonly limits: StreamParts["limits"] & {
    /** An answer is read whole, so it is bounded; video and files never pass through here. */
    readonly answerBytesMax: number;
    /** A name must be found, and TCP and TLS must stand, within this time. */
    readonly connectTimeoutMs: number;
    /** Once an answer has begun it must end within this time, however little of it comes at once. */
    readonly bodyTimeoutMs: number;
    /** How long the first event of a stream that counts is waited for before whoever asked is told of the stream. */
    readonly openingWaitMs: number;
  };
}

/**
 * Makes of an outcome what its asker wants to know, and of the first event of a stream that counts, where that came in time.
 * A throw is a bug of ours, and reaches whoever asked.
 */
export interface OutcomeReader<Outcome, Read> {
  readonly read: (outcome: Outcome, opening?: SseEvent) => Read;
  /** Which events that may come before it are not its first, as they only say that it begins. */
  readonly beginnings?: BeginningReader | undefined;
}

/** What leaves, and where it goes. */
interface Outgoing<Read> {
  readonly request: Pick<OutgoingRequest, "firstByteTimeoutMs" | "silenceTimeoutMs">;
  readonly origin: Origin;
  readonly bytes: string | Uint8Array;
  readonly mayStream: boolean;
  readonly reader: OutcomeReader<HttpOutcome | HttpStream, Read>;
  readonly asked: PromiseWithResolvers<Read>;
}

/**
 * One request and its answer. The request is written once: when its connection ends before the answer does, the other
 * side may have read it, and only whoever asked can know whether it may be sent again.
 */
export class HttpExchange<Read> implements ConnectionUser, Waiting {
  readonly #outgoing: Outgoing<Read>;
  readonly #parts: ExchangeParts;
  /** Until the first byte; then, each time, until the next. */
  readonly #deadline: Deadline;
  /** Until a connection stands that has to be opened first. */
  #connecting: Deadline | undefined;
  /** Until the end of a body that does not come all at once. */
  #lifetime: Deadline | undefined;
  readonly #answer = new ResponseReader();
  #connection: Connection | undefined;
  #pieces: Buffer[] = [];
  #bodyBytes = 0;
  /** Of an answer that is a stream, which is not told of before its first event is known. */
  #opening: StreamOpening | undefined;

  constructor(outgoing: Outgoing<Read>, parts: ExchangeParts) {
    this.#outgoing = outgoing;
    this.#parts = parts;
    this.#deadline = parts.deadlines.set(outgoing.request.firstByteTimeoutMs, this);
  }

  /** Looks for a connection that takes the request; one that was closed while it was idle takes none of it. */
  begin(): void {
    const { pool, deadlines, limits } = this.#parts;
    const { origin, bytes } = this.#outgoing;
    for (let idle = pool.take(origin, this); idle; idle = pool.take(origin, this)) {
      this.#connection = idle;
      if (idle.write(bytes)) return;
      idle.close();
    }
    this.#connecting = deadlines.set(limits.connectTimeoutMs, {
      onMissed: () => this.#giveUp(this.#parts.hasGivenUp() ? "gateway_stopped" : "unreachable"),
    });
    this.#connection = pool.open(origin, this);
    if (!this.#connection) this.#giveUp("unreachable");
  }

  onMissed(): void {
    if (this.#opening) this.#passOn();
    else this.#giveUp(this.#parts.hasGivenUp() ? "gateway_stopped" : "timeout");
  }

  onReady(connection: Connection): void {
    if (this.#connecting) this.#parts.deadlines.end(this.#connecting);
    this.#connection = connection;
    if (!connection.write(this.#outgoing.bytes)) this.#giveUp("unreachable");
  }

  onBytes(bytes: Buffer): void {
    const hadHead = this.#answer.head !== undefined;
    const piece = this.#answer.push(bytes);
    const { head, state } = this.#answer;
    if (state === "malformed" && !this.#opening) this.#giveUp("malformed");
    else if (head && (hadHead || this.#accept(head))) this.#add(head, piece);
  }

  onClosed(how: "ended" | "broken"): void {
    if (this.#opening) {
      // A body without a frame of its own ends here.
      this.#passOn(how === "ended" ? this.#opening.add(nothing, true) : undefined)?.onClosed(how);
      return;
    }
    if (endsBody(how, this.#outgoing.origin)) this.#answer.end();
    const { head, state } = this.#answer;
    if (head && state === "whole") this.#complete(head);
    else this.#giveUp(this.#hasWritten() ? "cut_off" : "unreachable");
  }

  /** Whether more of the answer is wanted; if not, the exchange is over. */
  #accept(head: ResponseHead): boolean {
    const { limits, deadlines } = this.#parts;
    const { status, contentLength = 0 } = head;
    if (status >= 300 && status < 400) this.#giveUp("redirect");
    else if (this.#connection && this.#outgoing.mayStream && beginsStream(head)) {
      this.#opening = new StreamOpening(this.#outgoing.reader.beginnings);
      deadlines.move(this.#deadline, Math.min(limits.openingWaitMs, this.#silenceTimeoutMs()));
      return true;
    } else if (contentLength > limits.answerBytesMax) this.#giveUp("too_large");
    else {
      if (this.#answer.state === "body") this.#lifetime = deadlines.set(limits.bodyTimeoutMs, this);
      return true;
    }
    return false;
  }

  #add(head: ResponseHead, piece: Buffer): void {
    this.#bodyBytes += piece.length;
    if (this.#bodyBytes > this.#parts.limits.answerBytesMax) {
      this.#giveUp("too_large");
      return;
    }
    if (piece.length > 0) this.#pieces.push(piece);
    if (this.#opening) {
      this.#lookIn(this.#opening, piece);
      return;
    }
    if (this.#answer.state !== "whole") {
      this.#parts.deadlines.move(this.#deadline, this.#silenceTimeoutMs());
      return;
    }
    if (this.#connection) this.#parts.release(this.#connection, this.#answer);
    this.#complete(head);
  }

  /** A first event may say that there will be no answer, so whoever asked is told of the stream together with that event. */
  #lookIn(opening: StreamOpening, piece: Buffer): void {
    const { state } = this.#answer;
    const event = opening.add(piece, state === "whole");
    if (event || state !== "body" || this.#bodyBytes > openingBytesMax) this.#passOn(event);
  }

  #passOn(opening?: SseEvent): ReceivedStream | undefined {
    this.#opening = undefined;
    this.#endDeadlines();
    if (!this.#connection) return undefined;
    const begun = { firstPiece: this.#joined(), silenceTimeoutMs: this.#silenceTimeoutMs() };
    const stream = new ReceivedStream(this.#connection, this.#answer, begun, this.#parts);
    this.#tell(stream, opening);
    return stream;
  }

  #joined(): Buffer {
    const [first = nothing] = this.#pieces;
    return this.#pieces.length > 1 ? Buffer.concat(this.#pieces) : first;
  }

  #complete(head: ResponseHead): void {
    this.#endDeadlines();
    const raw = this.#joined();
    const { contentEncoding } = head;
    if (contentEncoding === undefined) {
      this.#tell(answered(head, raw));
      return;
    }
    decompress(raw, contentEncoding, this.#parts.limits.answerBytesMax)
      .catch(() => "malformed" as const)
      .then((body) => this.#tell(typeof body === "string" ? noAnswer(body, true) : answered(head, body)))
      .catch(this.#outgoing.asked.reject);
  }

  /** Whatever is still to come is not wanted; the connection goes with it. */
  #giveUp(reason: NoAnswerReason): void {
    this.#endDeadlines();
    const sent = reason !== "unreachable" && this.#hasWritten();
    this.#connection?.close();
    this.#tell(noAnswer(reason, sent));
  }

  /** Read here and now, so that nobody has to wait once more for what has come. */
  #tell(outcome: HttpOutcome | HttpStream, opening?: SseEvent): void {
    const { asked, reader } = this.#outgoing;
    try {
      asked.resolve(reader.read(outcome, opening));
    } catch (error) {
      asked.reject(error);
    }
  }

  /** How long an answer that has begun may be silent. */
  #silenceTimeoutMs(): number {
    return this.#outgoing.request.silenceTimeoutMs ?? this.#parts.limits.silenceTimeoutMs;
  }

  #endDeadlines(): void {
    const { deadlines } = this.#parts;
    deadlines.end(this.#deadline);
    if (this.#connecting) deadlines.end(this.#connecting);
    if (this.#lifetime) deadlines.end(this.#lifetime);
  }

  #hasWritten(): boolean {
    return this.#connection !== undefined && this.#connection.writtenBytes > 0;
  }
}

const nothing = Buffer.alloc(0);

const beginsStream = ({ status, contentEncoding, contentType }: ResponseHead): boolean =>
  isSuccessStatus(status) &&
  !withoutBody.has(status) &&
  (contentEncoding === undefined || contentEncoding.toLowerCase() === "identity") &&
  contentType?.slice(0, eventStream.length).toLowerCase() === eventStream;

const eventStream = "text/event-stream";
const withoutBody: ReadonlySet<number> = new Set([204, 205]);

const answered = (
  { status, contentType, retryAfter, date }: ResponseHead,
  body: Uint8Array,
): HttpOutcome => ({
  kind: "answered",
  status,
  contentType,
  retryAfter,
  date,
  body,
});

export const noAnswer = (reason: NoAnswerReason, sent: boolean): HttpOutcome => ({
  kind: "no_answer",
  reason,
  sent,
});
