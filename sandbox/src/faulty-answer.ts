// How a fault bends a vendor's answer. Everything is said in terms of fetch: a closed socket is a
// rejected promise, a cut body a stream that fails; the listener turns those into the real thing.

import { merge, withoutUsage } from "./bent-usage.ts";
import type { Outcome } from "./book.ts";
import type { Fault } from "./faults.ts";
import { SocketClosed } from "./socket-closed.ts";
import { answerInEvents, wholeOf } from "./streamed-answer.ts";
import type { JsonObject, Vendor, VendorAnswer, VendorStream } from "./vendor.ts";

interface FaultyCall {
  readonly fault: Fault | undefined;
  /** An error in the vendor's own shape. */
  readonly refuse: (status: number, message: string) => VendorAnswer;
  /** Asks the vendor; not called when the fault keeps the call from it. */
  readonly ask: () => ReturnType<Vendor["answer"]>;
  readonly signal: AbortSignal;
  readonly answered: (outcome: Outcome) => void;
}

/**
 * What is billed: nothing when the fault keeps the answer from existing (close, hang, endless, a status
 * that is not 2xx); otherwise what the true answer bills, whatever the bent one claims; of a stream what
 * was generated for the events that were sent.
 */
export async function answerWith({ fault, refuse, ask, signal, answered }: FaultyCall): Promise<Response> {
  if (fault === undefined) {
    const answer = await ask();
    if ("events" in answer) return answerInEvents({ stream: answer, fault: { times: 1 }, answered });
    answered({ status: answer.status, billed: answer.billed });
    return respond(answer.status, encode(answer.body), answer.headers);
  }

  // Not cut short when the caller leaves: a real vendor finishes the work, and bills it.
  if (fault.latency_ms !== undefined && !isOwnLatency(fault)) await Bun.sleep(fault.latency_ms);
  if (fault.mode === "close") throw new SocketClosed("the fault closes the socket");
  if (fault.mode === "hang")
    return await new Promise((_, reject) => onAbort(signal, () => reject(new SocketClosed())));

  if (fault.mode === "endless") {
    const status = fault.status ?? 200;
    answered({ status, billed: null });
    return new Response(endless(fault.body ?? " "), { status, headers: headersOf(fault, {}) });
  }

  const failed = fault.status !== undefined && (fault.status < 200 || fault.status > 299);
  const answer = failed ? refuse(fault.status, "Injected fault.") : await ask();
  return "events" in answer
    ? bendStream(answer, fault, answered)
    : await bendAnswer(answer, { fault, refuse, answered });
}

/** In these modes the latency lies within the answer, not before it. */
const isOwnLatency = ({ mode }: Fault): boolean => mode === "slow_body" || mode === "stall_stream";

function bendStream(stream: VendorStream, fault: Fault, answered: FaultyCall["answered"]): Response {
  const inOnePiece = fault.body !== undefined || fault.mode === "partial" || fault.mode === "slow_body";
  if (!inOnePiece) return answerInEvents({ stream, fault, answered });

  const { bytes, contentType, billed, events } = wholeOf(stream, fault);
  const status = fault.status ?? stream.status;
  answered({ status, billed, events_sent: events });
  const headers = { ...stream.headers, "content-type": contentType };
  return send({ status, bytes, headers, fault });
}

async function bendAnswer(
  given: VendorAnswer,
  { fault, refuse, answered }: Pick<FaultyCall, "refuse" | "answered"> & { fault: Fault },
): Promise<Response> {
  const sound = given.status <= 299;
  const answer = sound && fault.mode === "error_event" ? refuse(500, "Injected fault.") : given;
  const status = fault.status ?? answer.status;
  answered({ status, billed: answer.billed });

  if (fault.mode === "stall_stream") await Bun.sleep(fault.latency_ms ?? 0);
  return send({ status, bytes: encode(bend(answer.body, fault)), headers: answer.headers ?? {}, fault });
}

function bend(body: JsonObject, { json_patch = {}, mode }: Fault): unknown {
  const patched = merge(body, json_patch);
  return mode === "no_usage" ? withoutUsage(patched) : patched;
}

function send({ status, bytes: own, headers, fault }: Sent): Response {
  const bytes = fault.body === undefined ? own : new TextEncoder().encode(fault.body);
  const all = headersOf(fault, headers);
  if (fault.mode === "partial" || fault.mode === "cut_stream")
    return respond(status, bytes, all, half(bytes));
  if (fault.mode === "slow_body") return respond(status, bytes, all, slowly(bytes, fault.latency_ms ?? 0));
  return respond(status, bytes, all);
}

interface Sent {
  readonly status: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly headers: Readonly<Record<string, string>>;
  readonly fault: Fault;
}

export const encode = (body: unknown): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(JSON.stringify(body));

/** Always with a Content-Length, as these vendors answer JSON. */
export function respond(
  status: number,
  bytes: Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {},
  stream?: ReadableStream<Uint8Array>,
): Response {
  const bodiless = status === 204 || status === 304;
  return new Response(bodiless ? null : (stream ?? bytes), {
    status,
    headers: {
      "content-type": "application/json",
      ...(bodiless ? {} : { "content-length": `${bytes.length}` }),
      ...headers,
    },
  });
}

function headersOf(fault: Fault, own: Readonly<Record<string, string>>): Record<string, string> {
  const given = fault.body === undefined ? own["content-type"] : undefined;
  return { ...own, "content-type": fault.content_type ?? given ?? "application/json", ...fault.headers };
}

function half(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let sent = false;
  return new ReadableStream({
    pull(controller) {
      if (sent) return controller.error(new SocketClosed("the fault cuts the body"));
      sent = true;
      controller.enqueue(bytes.subarray(0, Math.floor(bytes.length / 2)));
    },
  });
}

/** At most eight chunks, so that the whole delay is known: eight times the latency. */
function slowly(bytes: Uint8Array, latencyMs: number): ReadableStream<Uint8Array> {
  const size = Math.max(1, Math.ceil(bytes.length / 8));
  let sent = 0;
  let left = false;
  return new ReadableStream({
    async pull(controller) {
      await Bun.sleep(latencyMs);
      if (left) return;
      controller.enqueue(bytes.subarray(sent, sent + size));
      sent += size;
      if (sent >= bytes.length) controller.close();
    },
    cancel() {
      left = true;
    },
  });
}

/** Only ever made when pulled: a reader that stops reading stops us, one that leaves ends us. */
function endless(text: string): ReadableStream<Uint8Array> {
  const chunk = new TextEncoder().encode(text.repeat(Math.ceil(65_536 / Math.max(1, text.length))));
  return new ReadableStream({ pull: (controller) => controller.enqueue(chunk) });
}

function onAbort(signal: AbortSignal, then: () => void): void {
  if (signal.aborted) then();
  else signal.addEventListener("abort", then, { once: true });
}
