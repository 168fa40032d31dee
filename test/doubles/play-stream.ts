// Plays a stream of events onto a socket, well or badly, and tells the vendor how far it got.

import type { Socket } from "node:net";

import { encodeChunk, lastChunk, toBytes } from "./http-wire.ts";
import type { EventStream, StreamEvent, StreamScript } from "./scripted-answer.ts";
import { finish, letRead, sleep, write } from "./socket-writes.ts";

/** Plays one stream; true when the connection may carry another request. */
export const playStream = async ({
  socket,
  head,
  stream,
  script,
}: {
  readonly socket: Socket;
  readonly head: Uint8Array;
  readonly stream: EventStream;
  readonly script: StreamScript;
}): Promise<boolean> => {
  const { fault, afterEvents = 0, everyMs = 0, segments = "each", lineEnd = "\n" } = script;
  const said = (text: string): Uint8Array => toBytes(text.replaceAll("\n", lineEnd));
  const events = stream.events.flatMap((event) => toldEvent(event, script));
  const turn = fault === undefined ? events.length : Math.min(afterEvents, events.length);

  let sent = 0;
  let extra = 0;
  const report = (left: boolean): void => {
    stream.report({
      events: sent + extra,
      share: events[sent - 1]?.share ?? 0,
      extra,
      left,
      whole: sent === events.length,
    });
  };
  const play = async (from: number, to: number): Promise<boolean> => {
    const parts = segmentsOf(
      events.slice(from, to).map(({ wire }) => said(wire)),
      segments,
    );
    for (const { bytes, completed } of parts) {
      if (everyMs > 0 && sent > 0 && !(await sleep(socket, everyMs))) return false;
      if (!(await write(socket, encodeChunk(bytes)))) return false;
      sent = from + completed;
      report(false);
    }
    return true;
  };
  const sayForEver = async (text: string, pauseMs: number): Promise<void> => {
    const chunk = encodeChunk(said(text));
    while (await write(socket, chunk)) {
      if (fault === "endless") extra += 1;
      report(false);
      if (pauseMs > 0 && !(await sleep(socket, pauseMs))) return;
    }
  };
  const gone = (): false => {
    report(true);
    return false;
  };

  report(false);
  if (!(await write(socket, head)) || !(await play(0, turn))) return gone();
  switch (fault) {
    case undefined:
      break;
    case "reset":
    case "close":
      // A client may forget what it has not handed on when a body breaks off (Bun's does): then a test would see
      // fewer events than went out, now and then.
      await letRead(socket);
      return finish(socket, fault);
    case "end":
      break;
    case "error":
      if (!(await write(socket, encodeChunk(said(stream.error))))) return gone();
      break;
    case "stall":
      if (!(await sleep(socket, script.stallMs ?? Infinity)) || !(await play(turn, events.length)))
        return gone();
      break;
    case "long-line":
      if (!(await writeLongLine(socket, stream, script.lineBytes ?? usualLineBytes))) return gone();
      if (!(await play(turn, events.length))) return gone();
      break;
    case "endless":
      await sayForEver(stream.say("and "), everyMs);
      return gone();
    case "heartbeats":
      await sayForEver(stream.heartbeat, everyMs || heartbeatMs);
      return gone();
  }
  return write(socket, lastChunk);
};

const usualLineBytes = 2 * 1024 * 1024;
const heartbeatMs = 10;
const longestSegmentBytes = 13;
const fillerBytes = Buffer.from("a".repeat(64 * 1024));

function toldEvent(event: StreamEvent, { withoutUsage = false }: StreamScript): readonly StreamEvent[] {
  if (!withoutUsage || event.unmetered === undefined) return [event];
  return event.unmetered === null ? [] : [{ ...event, wire: event.unmetered }];
}

interface Segment {
  readonly bytes: Uint8Array;
  /** How many events are out, to their last byte, once this is sent. */
  readonly completed: number;
}

function segmentsOf(
  events: readonly Uint8Array[],
  how: NonNullable<StreamScript["segments"]>,
): readonly Segment[] {
  if (how === "each") return events.map((bytes, index) => ({ bytes, completed: index + 1 }));
  const whole = Buffer.concat(events);
  if (whole.length === 0) return [];
  if (how === "together") return [{ bytes: whole, completed: events.length }];

  let length = 0;
  const ends = events.map((event) => (length += event.length));
  const cuts = [...oddCuts(whole), whole.length];
  return cuts.map((cut, index) => ({
    bytes: whole.subarray(cuts[index - 1] ?? 0, cut),
    completed: ends.filter((end) => end <= cut).length,
  }));
}

/** Before every byte that continues a character, inside every line end, and often enough in between. */
function oddCuts(bytes: Uint8Array): readonly number[] {
  const cuts: number[] = [];
  let last = 0;
  for (let at = 1; at < bytes.length; at += 1) {
    const [before = 0, byte = 0] = [bytes[at - 1], bytes[at]];
    const insideCharacter = (byte & 0xc0) === 0x80;
    const insideLineEnd = isLineEnd(before) && isLineEnd(byte);
    if (!insideCharacter && !insideLineEnd && at - last < longestSegmentBytes) continue;
    cuts.push(at);
    last = at;
  }
  return cuts;
}

const isLineEnd = (byte: number): boolean => byte === 10 || byte === 13;

/** One event of the vendor's whose only line is long; it goes out in pieces, as it would in life. */
async function writeLongLine(
  socket: Socket,
  { say }: Pick<EventStream, "say">,
  lineBytes: number,
): Promise<boolean> {
  const [start = "", end = ""] = say(placeMark).split(placeMark);
  let left =
    lineBytes - toBytes(start.slice(start.lastIndexOf("\n") + 1)).length - toBytes(end.trimEnd()).length;
  if (!(await write(socket, encodeChunk(start)))) return false;
  while (left > 0) {
    const filler = fillerBytes.subarray(0, Math.min(left, fillerBytes.length));
    if (!(await write(socket, encodeChunk(filler)))) return false;
    left -= filler.length;
  }
  return write(socket, encodeChunk(end));
}

const placeMark = "@here@";
