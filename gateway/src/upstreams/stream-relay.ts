import type { StreamRelay } from "../operation/upstream.ts";
import { createFramePasser, type StreamRules } from "./frame-passer.ts";
import type { HttpStream } from "./http-client.ts";
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
  let ended = false;

  const finish = (bytes: Uint8Array): Uint8Array | undefined => {
    ended = true;
    return bytes.length === 0 ? undefined : bytes;
  };

  const take = (piece: Uint8Array | undefined): Uint8Array | undefined | Promise<Uint8Array | undefined> => {
    try {
      if (piece === undefined) {
        const last = passer.pass(cutter.rest());
        return finish(Buffer.concat([last, Buffer.from(rules.end(meter.told() ? "whole" : "early"))]));
      }
      const shown = passer.pass(cutter.push(piece));
      if (passer.stopped()) return breakOff(shown);
      return shown.length > 0 ? shown : next();
    } catch {
      return breakOff();
    }
  };

  // The upstream broke off, fell silent, or sent an event without end or one to withhold: the caller's stream ends
  // here too, and says so, because half an answer must not look like a whole one.
  const breakOff = (shown: Uint8Array = nothing): Uint8Array | undefined => {
    stream.leave();
    return finish(Buffer.concat([shown, Buffer.from(rules.end(meter.told() ? "whole" : "cut"))]));
  };

  const next = (): Promise<Uint8Array | undefined> =>
    ended ? Promise.resolve(undefined) : stream.next().then(take, () => breakOff());

  return {
    next,
    read: () => ({ tokens: meter.tokens(), complete: meter.stopped() }),
    leave: stream.leave,
  };
}

const nothing = new Uint8Array();
