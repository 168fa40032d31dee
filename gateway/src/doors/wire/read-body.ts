import type { Clock } from "../../platform/clock.ts";
import { createDeadlines, type Deadline, type Deadlines, type Waiting } from "../../platform/deadlines.ts";
import { passedBytesMax, type HttpHeaders, type SentBody } from "../../platform/http-request.ts";
import { CallRefused, refuse } from "../../platform/refusals.ts";
import { readPieces, roomlessBytes, takeRoom, tooLarge, unpack, type BodyKeeper } from "./body-pieces.ts";
import { BodyRoom } from "./body-room.ts";

/** Reads request bodies within limits of size, time and compression. */
export interface BodyReader {
  /**
   * Not a promise where the body is here: nearly every call's comes with its head. Whoever has no
   * account shares the room of one. A body without a keeper gives its room back as soon as it is here.
   */
  readonly read: (
    request: SentBody,
    bytesMax: number,
    accountId?: string,
    keeper?: BodyKeeper,
  ) => Uint8Array | Promise<Uint8Array>;
  /** Room for a body that came inside of another message, for as long as it is needed: what is returned gives it back. */
  readonly keepRoom: (bytes: number, accountId: string) => () => void;
}

interface Parts {
  readonly timeoutMs: number;
  readonly roomBytes?: number | undefined;
  readonly clock: Clock;
}

/** JSON by any of the names under which clients send it; curl's own default is one of them. */
const acceptable =
  /^(application\/([\w.+-]*\+)?json|text\/plain|application\/x-www-form-urlencoded)\s*(;|$)/i;

/**
 * Whether the rest of a body that is refused is let pass. A connection that closes while its client still sends is broken to
 * it, and many never look at the answer that came before. Without a length nobody knows when it would end.
 */
export function letsRestPass(headers: HttpHeaders): boolean {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= passedBytesMax;
}

export function createBodyReader({ timeoutMs, roomBytes, clock }: Parts): BodyReader {
  const deadlines = createDeadlines(clock.monotonicMs);
  const room = new BodyRoom(roomBytes);

  return {
    read: (request, bytesMax, accountId = nobody, keeper) => {
      // Each look at a header costs, so each is looked at once.
      const { headers } = request;
      checkType(headers.get("content-type"));
      const packed = isPacked(headers.get("content-encoding"));
      const length = headers.get("content-length");
      if (length !== null && Number(length) > bytesMax) tooLarge(bytesMax);
      const { arrivedBody } = request;
      if (arrivedBody && arrivedBody.length > bytesMax) tooLarge(bytesMax);
      if (arrivedBody && !packed) return arrivedBody;
      const lodging = { room, accountId, nowMs: clock.wallMs, keeper };
      if (arrivedBody) return unpack(arrivedBody, bytesMax, lodging);
      const isSmall = length !== null && Number(length) <= roomlessBytes;
      const arriving = isSmall
        ? request.bytes()
        : readPieces(request, bytesMax, packed ? { ...lodging, keeper: undefined } : lodging);
      const body = new ArrivingBody(arriving, deadlines, timeoutMs).whole;
      return packed ? body.then((bytes) => unpack(bytes, bytesMax, lodging)) : body;
    },
    keepRoom: (bytes, accountId) => {
      const neededBytes = Math.max(0, bytes - roomlessBytes);
      takeRoom(neededBytes, { room, accountId, nowMs: clock.wallMs });
      return () => room.giveBack(accountId, neededBytes);
    },
  };
}

class ArrivingBody implements Waiting {
  readonly #awaited = Promise.withResolvers<Uint8Array>();
  readonly #deadlines: Deadlines;
  readonly #deadline: Deadline;

  constructor(arriving: Promise<Uint8Array>, deadlines: Deadlines, timeoutMs: number) {
    this.#deadlines = deadlines;
    this.#deadline = deadlines.set(timeoutMs, this);
    arriving.then(
      (body) => this.#end().resolve(body),
      (error: unknown) => this.#end().reject(whyBroken(error)),
    );
  }

  get whole(): Promise<Uint8Array> {
    return this.#awaited.promise;
  }

  onMissed(): void {
    this.#awaited.reject(new CallRefused("request_timeout", "The body did not arrive in time."));
  }

  #end(): PromiseWithResolvers<Uint8Array> {
    this.#deadlines.end(this.#deadline);
    return this.#awaited;
  }
}

function checkType(type: string | null): void {
  if (type === null || type === "application/json" || acceptable.test(type)) return;
  refuse("unsupported_media_type", `Content-Type: expected application/json, got ${type.slice(0, 80)}`);
}

function isPacked(encoding: string | null): boolean {
  if (encoding === null) return false;
  const coding = encoding.trim().toLowerCase();
  if (coding === "gzip") return true;
  return coding === "identity"
    ? false
    : refuse("unsupported_media_type", "Content-Encoding: expected gzip or none");
}

/** A caller that leaves while it sends is no failure of ours. */
function whyBroken(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  return error.name === "AbortError"
    ? new CallRefused("invalid_parameters", "the body ended before it was complete")
    : error;
}

const nobody = "";
