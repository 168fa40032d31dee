// Bodies that come piece by piece, from the network or out of their compression, and the room they take in memory meanwhile.

import { createGunzip } from "node:zlib";
import { toldOfLimit } from "../../limits/hit-limit.ts";
import type { SentBody } from "../../platform/http-request.ts";
import { CallRefused, refuse } from "../../platform/refusals.ts";
import type { BodyRoom } from "./body-room.ts";

/** Whoever needs a body for longer than it takes to read it. */
export interface BodyKeeper {
  /** A body that takes room is here; to be called once, when it is not needed any more. */
  readonly keep: (giveBack: () => void) => void;
}

/** This much of every body takes no room: a connection keeps it anyway, and most calls send far less. */
export const roomlessBytes = 256 * 1024;

/** Who takes room, and where. */
interface Lodger {
  readonly room: BodyRoom;
  readonly accountId: string;
  readonly nowMs: () => number;
}

interface Lodging extends Lodger {
  readonly keeper: BodyKeeper | undefined;
}

export const readPieces = async (
  { body }: SentBody,
  bytesMax: number,
  lodging: Lodging,
): Promise<Uint8Array> =>
  body ? gather(body, { bytesMax, refuseLarger: tooLarge }, lodging) : new Uint8Array();

/** Piece by piece, as it takes room: a few hundred kilobytes may become many megabytes, and do not say so before. */
export async function unpack(
  packed: Uint8Array,
  bodyBytesMax: number,
  lodging: Lodging,
): Promise<Uint8Array> {
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

/** No honest text shrinks further than this. */
const compressionRatioMax = 100;

/** Each piece takes a turn of another thread, so they are not smaller; one of this size takes no room yet. */
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

export function takeRoom(bytes: number, { room, accountId, nowMs }: Lodger): void {
  if (bytes > 0 && !room.take(accountId, bytes)) noRoom(room.shareOf(accountId), nowMs());
}

export const tooLarge = (bytesMax: number): never =>
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
