import { createGunzip } from "node:zlib";
import { toldOfLimit } from "../../limits/hit-limit.ts";
import type { Clock } from "../../platform/clock.ts";
import { createDeadlines, type Deadline, type Deadlines, type Waiting } from "../../platform/deadlines.ts";
import { passedBytesMax, type HttpHeaders, type SentBody } from "../../platform/http-request.ts";
import { CallRefused, refuse } from "../../platform/refusals.ts";
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

/** Whoever needs a body for longer than it takes to read it. */
export interface BodyKeeper {
  /** A body that takes room is here; to be called once, when it is not needed any more. */
  readonly keep: (giveBack: () => void) => void;
}

interface Parts {
  readonly timeoutMs: number;
  readonly roomBytes?: number | undefined;
  readonly clock: Clock;
}

/** JSON by any of the names under which clients send it; curl's own default is one of them. */
const acceptable =
  /^(application\/([\w.+-]*\+)?json|text\/plain|application\/x-www-form-urlencoded)\s*(;|$)/i;

/** No honest text shrinks further than this. */
const compressionRatioMax = 100;

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

/** As much of every body needs no room: a connection keeps it anyway, and what most calls send is far less. */
const roomlessBytes = 256 * 1024;

interface Lodger {
  readonly room: BodyRoom;
  readonly accountId: string;
  readonly nowMs: () => number;
}

interface Lodging extends Lodger {
  readonly keeper: BodyKeeper | undefined;
}

const readPieces = async ({ body }: SentBody, bytesMax: number, lodging: Lodging): Promise<Uint8Array> =>
  body ? gather(body, { bytesMax, refuseLarger: tooLarge }, lodging) : new Uint8Array();

/** Piece by piece, as it takes room: a few hundred kilobytes may become many megabytes, and do not say so before. */
async function unpack(packed: Uint8Array, bodyBytesMax: number, lodging: Lodging): Promise<Uint8Array> {
  const bytesMax = Math.min(bodyBytesMax, Math.max(packed.byteLength, 1) * compressionRatioMax);
  const unpacking = createGunzip({ chunkSize: unpackedPieceBytes });
  unpacking.end(packed);
  try {
    return await gather(unpacking, { bytesMax, refuseLarger: unpacksTooLarge }, lodging);
  } catch (error) {
    if (error instanceof CallRefused) throw error;
    return refuse("invalid_parameters", "the body is not valid gzip");
  }
}

/** Every piece is a turn of another thread; one of this size needs no room yet. */
const unpackedPieceBytes = 64 * 1024;

interface Size {
  readonly bytesMax: number;
  readonly refuseLarger: (bytesMax: number) => never;
}

/** Takes room for what has come, not for what was announced: a head without a body must not keep others out. */
async function gather(
  source: AsyncIterable<Uint8Array>,
  { bytesMax, refuseLarger }: Size,
  lodging: Lodging,
): Promise<Uint8Array> {
  const { room, accountId, keeper } = lodging;
  const pieces: Uint8Array[] = [];
  let totalBytes = 0;
  let takenBytes = 0;
  let isKept = false;
  const giveBack = (): void => room.giveBack(accountId, takenBytes);
  try {
    for await (const piece of source) {
      totalBytes += piece.byteLength;
      if (totalBytes > bytesMax) refuseLarger(bytesMax);
      const neededBytes = Math.max(0, totalBytes - roomlessBytes) - takenBytes;
      takeRoom(neededBytes, lodging);
      takenBytes += neededBytes;
      pieces.push(piece);
    }
    const whole = Buffer.concat(pieces);
    isKept = keeper !== undefined && takenBytes > 0;
    if (isKept) keeper?.keep(giveBack);
    return whole;
  } finally {
    if (!isKept) giveBack();
  }
}

function takeRoom(bytes: number, { room, accountId, nowMs }: Lodger): void {
  if (bytes > 0 && !room.take(accountId, bytes)) noRoom(room.shareOf(accountId), nowMs());
}

const tooLarge = (bytesMax: number): never =>
  refuse("payload_too_large", `The body is larger than ${bytesMax} bytes.`);

const unpacksTooLarge = (bytesMax: number): never =>
  refuse("payload_too_large", `The body unpacks to more than ${bytesMax} bytes.`);

/** Most bodies have come by then. */
const roomRetryMs = 1_000;

const noRoom = (shareBytes: number, nowMs: number): never =>
  refuse(
    "quota_exceeded",
    `Too many large bodies of this account are on their way; together they may have ${shareBytes} bytes for now.`,
    toldOfLimit({ name: "body_bytes", limit: shareBytes, retryInMs: roomRetryMs }, nowMs),
  );
