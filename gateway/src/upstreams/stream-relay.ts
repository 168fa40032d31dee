import type { Quantities } from "../operation/quantities.ts";
import type { StreamRelay, TokenReading } from "../operation/upstream.ts";
import type { ChatEvent, ChatUsage } from "./dialects/chat.ts";
import type { HttpStream } from "./http-client.ts";
import { createSseParser, type SseFrame } from "./sse.ts";

/** How the events of one stream are understood and what the caller gets to see of them. */
export interface StreamRules {
  readonly contentType: string;
  /** What a frame means, for the meter. */
  readonly read: (frame: SseFrame) => readonly ChatEvent[];
  /** What the caller gets for it: the frame's own text, another one, or nothing. */
  readonly write: (frame: SseFrame, events: readonly ChatEvent[]) => string;
  /** What the caller gets after the last frame, of an answer that is whole, ended too early, or was cut off. */
  readonly end: (ending: "whole" | "early" | "cut") => string;
  /** Figures in a frame that are negative, fractional or absurd. */
  readonly oddFigures: (frame: SseFrame) => readonly string[];
}

/** Passes a stream on, frame by frame, and meters what passes. It ends before a frame that is to be withheld. */
export function createStreamRelay(
  stream: HttpStream,
  rules: StreamRules,
  isWithheld: (text: string) => boolean,
): StreamRelay {
  const parser = createSseParser();
  const encoder = new TextEncoder();
  const meter = createMeter();
  let ended = false;
  let stopsHere = false;

  const pass = (frames: readonly SseFrame[]): string => {
    let text = "";
    for (const frame of frames) {
      stopsHere = isWithheld(frame.text);
      if (stopsHere) break;
      const events = rules.read(frame);
      meter.add(events, rules.oddFigures(frame));
      text += rules.write(frame, events);
    }
    return text;
  };

  const finish = (text: string): Uint8Array | undefined => {
    ended = true;
    return text === "" ? undefined : encoder.encode(text);
  };

  return {
    next: async () => {
      while (!ended) {
        try {
          const bytes = await stream.next();
          if (bytes === undefined)
            return finish(pass(parser.rest()) + rules.end(meter.told() ? "whole" : "early"));
          const text = pass(parser.push(bytes));
          if (stopsHere) {
            stream.leave();
            return finish(text + rules.end(meter.told() ? "whole" : "cut"));
          }
          if (text !== "") return encoder.encode(text);
        } catch {
          // The upstream broke off, fell silent, or sent an event without end: the caller's stream ends here too,
          // and says so, because half an answer must not look like a whole one.
          stream.leave();
          return finish(rules.end(meter.told() ? "whole" : "cut"));
        }
      }
      return undefined;
    },
    read: () => ({ tokens: meter.tokens(), complete: meter.stopped() }),
    leave: stream.leave,
  };
}

function createMeter() {
  let usage: ChatUsage | undefined;
  let outputBytes = 0;
  let stopped = false;
  let failed = false;
  /** Figures told before the end are not the last word: some vendors count one token at the start. */
  let usageIsFinal = false;
  const anomalies: string[] = [];
  return {
    add: (events: readonly ChatEvent[], odd: readonly string[]): void => {
      stopped ||= events.some(({ kind }) => kind === "stop");
      for (const event of events) {
        if (event.kind === "usage") {
          usage = event.usage;
          usageIsFinal = stopped;
        } else if (event.kind === "error") failed = true;
        else if ("text" in event) outputBytes += Buffer.byteLength(event.text);
        else if (event.kind === "tool_call") outputBytes += Buffer.byteLength(event.name);
      }
      anomalies.push(...odd);
    },
    stopped: () => stopped,
    /** Whether the vendor itself said how its answer ended. */
    told: () => stopped || failed,
    tokens: (): TokenReading => {
      const output = Math.max(usage?.output ?? 0, Math.ceil(outputBytes / 4));
      const passed = { ...(usage ? quantitiesOf(usage) : {}), output_tokens: output };
      return {
        used: usage && usageIsFinal ? quantitiesOf(usage) : undefined,
        // A stream that broke off never told its final figures: what was seen to pass is what was used.
        estimate: outputBytes === 0 ? undefined : passed,
        anomalies,
      };
    },
  };
}

export const quantitiesOf = (usage: ChatUsage): Quantities => ({
  input_tokens: usage.input,
  output_tokens: usage.output,
  ...(usage.cacheRead > 0 ? { cache_read_tokens: usage.cacheRead } : {}),
  ...(usage.cacheWrite > 0 ? { cache_write_tokens: usage.cacheWrite } : {}),
  ...(usage.cacheWrite1h > 0 ? { cache_write_1h_tokens: usage.cacheWrite1h } : {}),
});
