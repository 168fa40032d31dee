import type { StreamRelay, StreamTaker } from "../operation/upstream.ts";
import { createFramePasser, type StreamRules } from "./frame-passer.ts";
import type { HttpStream, StreamReader } from "./http/http-stream.ts";
import { createFrameCutter } from "./sse.ts";
import { createStreamMeter } from "./stream-meter.ts";

/** Passes a stream on, frame by frame, and meters what passes. It ends before a frame that is to be withheld. */
export function createStreamRelay(
  stream: HttpStream,
  rules: StreamRules,
  isWithheld: (text: string) => boolean,
): StreamRelay {
  const cutter = createFrameCutter();
  const meter = createStreamMeter();
  const passer = createFramePasser(rules, meter, isWithheld);
  let taker: StreamTaker | undefined;
  let ended = false;

  const give = (bytes: Uint8Array): void => {
    if (bytes.length > 0) taker?.onPiece(bytes);
  };

  const end = (shown: Uint8Array, ending: "whole" | "early" | "cut"): void => {
    ended = true;
    const last = Buffer.from(rules.end(ending));
    give(last.length === 0 ? shown : Buffer.concat([shown, last]));
    taker?.onEnd();
  };

  // The upstream broke off, fell silent, or sent an event without end or one to withhold: the caller's stream ends
  // here too, and says so, because half an answer must not look like a whole one.
  const breakOff = (shown: Uint8Array = nothing): void => {
    ended = true;
    stream.leave();
    end(shown, meter.told() ? "whole" : "cut");
  };

  /** What is shown of frames that are complete; undefined where they cannot be read. */
  const pass = (cut: (piece: Uint8Array) => Uint8Array, piece: Uint8Array): Uint8Array | undefined => {
    try {
      return passer.pass(cut(piece));
    } catch {
      return undefined;
    }
  };

  const reader: StreamReader = {
    onPiece: (piece) => {
      if (ended) return;
      const shown = pass(cutter.push, piece);
      if (shown === undefined || passer.stopped()) breakOff(shown);
      else give(shown);
    },
    onEnd: (ending) => {
      if (ended) return;
      const shown = ending === "broken" ? undefined : pass(cutter.rest, nothing);
      if (shown === undefined) breakOff();
      else end(shown, meter.told() ? "whole" : "early");
    },
  };

  return {
    start: (to) => {
      taker = to;
      stream.start(reader);
    },
    pause: () => stream.pause(),
    resume: () => stream.resume(),
    read: () => ({ tokens: meter.tokens(), complete: meter.stopped() }),
    leave: () => stream.leave(),
  };
}

const nothing = new Uint8Array();
