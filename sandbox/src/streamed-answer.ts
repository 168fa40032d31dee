// A vendor's events on their way to the caller, bent by a fault where there is one. Events are made when
// they are pulled, so a caller that stops reading stops the vendor, and one that leaves ends it.

import { setTimeout as pause } from "node:timers/promises";
import { bendEvent } from "./bent-usage.ts";
import type { Outcome } from "./book.ts";
import type { Fault } from "./faults.ts";
import { SocketClosed } from "./socket-closed.ts";
import type { Billed, JsonObject, StreamEvent, VendorStream } from "./vendor.ts";

interface StreamedCall {
  readonly stream: VendorStream;
  readonly fault: Fault;
  /** Called once, when the stream ends, whoever ends it. */
  readonly answered: (outcome: Outcome) => void;
}

export function answerInEvents({ stream, fault, answered }: StreamedCall): Response {
  const status = fault.status ?? stream.status;
  const { begin, between, end, contentType } = framings[stream.framing];
  const events = bentEvents(stream, fault);
  const afterEvents = fault.after_events ?? 1;
  const gone = new AbortController();

  // One event ahead, so that the last one and the end go out together: a caller who leaves on the last
  // event has not left early.
  let next = events.next();
  let sent = 0;
  let billed = stream.billed;
  let open = true;
  const book = (more: Pick<Outcome, "aborted"> = {}): void => {
    open = false;
    answered({ status, billed, events_sent: sent, ...more });
  };
  const wait = async (ms: number | undefined): Promise<void> => {
    if (ms !== undefined) await pause(ms, undefined, { signal: gone.signal }).catch(() => undefined);
  };

  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    const isDue = sent === afterEvents;
    if (isDue && fault.mode === "stall_stream") await wait(fault.latency_ms);
    if (isDue && fault.mode === "cut_stream") await wait(arrivalMs);
    if (sent > 0) await wait(fault.chunk_delay_ms);
    if (!open) return;

    if (isDue && fault.mode === "cut_stream") {
      book();
      return controller.error(new SocketClosed("the fault cuts the stream"));
    }
    const prefix = sent === 0 ? begin : between;
    if (next.done === true) {
      book();
      controller.enqueue(encoder.encode((sent === 0 ? begin : "") + end));
      return controller.close();
    }
    if (isDue && fault.mode === "error_event") {
      book();
      controller.enqueue(encoder.encode(prefix + frame(stream, stream.fail("Injected fault.")) + end));
      return controller.close();
    }

    const { value } = next;
    next = events.next();
    sent += 1;
    billed = value.billed;
    const isLast = next.done === true;
    if (isLast) book();
    controller.enqueue(encoder.encode(prefix + frame(stream, value) + (isLast ? end : "")));
    if (isLast) controller.close();
  };
  const cancel = (): void => {
    gone.abort();
    if (open) book({ aborted: true });
  };

  const headers = {
    "cache-control": "no-cache",
    ...stream.headers,
    "content-type": fault.content_type ?? contentType,
    ...fault.headers,
  };
  return new Response(new ReadableStream({ pull, cancel }, { highWaterMark: 0 }), { status, headers });
}

/** All of it at once, for faults that know bodies only. */
export function wholeOf(stream: VendorStream, fault: Fault) {
  const { begin, between, end, contentType } = framings[stream.framing];
  const all = [...bentEvents(stream, fault)];
  const billed: Billed = all.at(-1)?.billed ?? stream.billed;
  const text = begin + all.map((event) => frame(stream, event)).join(between) + end;
  return { bytes: encoder.encode(text), contentType, billed, events: all.length };
}

function* bentEvents(stream: VendorStream, fault: Fault): Generator<StreamEvent, undefined> {
  for (const event of stream.events) {
    const data = bendEvent(event, fault);
    if (data !== undefined) yield { ...event, data };
  }
}

// Before a cut, what was sent must arrive: clients (fetch in Bun 1.4.4) drop what they had not read when a
// connection breaks, and then nobody could tell after how many events it broke.
const arrivalMs = 250;

const encoder = new TextEncoder();

const framings = {
  sse: { begin: "", between: "", end: "", contentType: "text/event-stream; charset=utf-8" },
  json_list: { begin: "[", between: ",\r\n", end: "]", contentType: "application/json; charset=UTF-8" },
} as const;

function frame(
  { framing }: VendorStream,
  { event, data }: { event?: string; data: JsonObject | string },
): string {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  if (framing === "json_list") return text;
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${text}\n\n`;
}
