// How a fault bends a vendor's answer. Everything is said in terms of fetch: a closed socket is a
// rejected promise, a cut body a stream that fails; the listener turns those into the real thing.
import { isObject } from "./vendor.ts";
import type { Fault } from "./faults.ts";
import type { Vendor, VendorAnswer } from "./vendor.ts";
import type { Outcome } from "./book.ts";

/** Thrown to make the listener close the socket without a word. */
export class SocketClosed extends Error {
  override readonly name = "SocketClosed";
}

interface FaultyCall {
  readonly fault: Fault | undefined;
  readonly vendor: Vendor;
  /** Asks the vendor; not called when the fault keeps the call from it. */
  readonly ask: () => VendorAnswer;
  readonly signal: AbortSignal;
  readonly answered: (outcome: Outcome) => void;
}

/**
 * What is billed: nothing when the fault keeps the answer from existing (close, hang, endless, a status
 * that is not 2xx); otherwise what the true answer bills, whatever the bent one claims.
 */
export const answerWith = async ({ fault, vendor, ask, signal, answered }: FaultyCall): Promise<Response> => {
  if (fault === undefined) {
    const answer = ask();
    answered(answer);
    return respond(answer.status, encode(answer.body), answer.headers);
  }

  // Not cut short when the caller leaves: a real vendor finishes the work, and bills it.
  if (fault.latency_ms !== undefined && fault.mode !== "slow_body") await Bun.sleep(fault.latency_ms);
  if (fault.mode === "close") throw new SocketClosed("the fault closes the socket");
  if (fault.mode === "hang")
    return await new Promise((_, reject) => onAbort(signal, () => reject(new SocketClosed())));

  if (fault.mode === "endless") {
    const status = fault.status ?? 200;
    answered({ status, billed: null });
    return new Response(endless(fault.body ?? " "), { status, headers: headersOf(fault, {}) });
  }

  const failed = fault.status !== undefined && (fault.status < 200 || fault.status > 299);
  const answer = failed ? vendor.refuse(fault.status, "Injected fault.") : ask();
  const status = fault.status ?? answer.status;
  const bytes =
    fault.body === undefined
      ? encode(merge(answer.body, fault.json_patch ?? {}))
      : new TextEncoder().encode(fault.body);
  answered({ status, billed: answer.billed });

  const headers = headersOf(fault, answer.headers ?? {});
  if (fault.mode === "partial") return respond(status, bytes, headers, half(bytes));
  if (fault.mode === "slow_body")
    return respond(status, bytes, headers, slowly(bytes, fault.latency_ms ?? 0));
  return respond(status, bytes, headers);
};

export const encode = (body: unknown): Uint8Array<ArrayBuffer> =>
  new TextEncoder().encode(JSON.stringify(body));

/** Always with a Content-Length, as these vendors answer JSON. */
export const respond = (
  status: number,
  bytes: Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {},
  stream?: ReadableStream<Uint8Array>,
): Response => {
  const bodiless = status === 204 || status === 304;
  return new Response(bodiless ? null : (stream ?? bytes), {
    status,
    headers: {
      "content-type": "application/json",
      ...(bodiless ? {} : { "content-length": `${bytes.length}` }),
      ...headers,
    },
  });
};

const headersOf = (fault: Fault, own: Readonly<Record<string, string>>): Record<string, string> => ({
  ...own,
  "content-type": fault.content_type ?? "application/json",
  ...fault.headers,
});

/** RFC 7396: objects merge member by member, null deletes, anything else replaces. */
const merge = (target: unknown, patch: unknown): unknown => {
  if (!isObject(patch)) return patch;
  const merged: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [member, value] of Object.entries(patch)) {
    if (value === null) delete merged[member];
    else merged[member] = merge(merged[member], value);
  }
  return merged;
};

const half = (bytes: Uint8Array): ReadableStream<Uint8Array> => {
  let sent = false;
  return new ReadableStream({
    pull(controller) {
      if (sent) return controller.error(new SocketClosed("the fault cuts the body"));
      sent = true;
      controller.enqueue(bytes.subarray(0, Math.floor(bytes.length / 2)));
    },
  });
};

/** At most eight chunks, so that the whole delay is known: eight times the latency. */
const slowly = (bytes: Uint8Array, latencyMs: number): ReadableStream<Uint8Array> => {
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
};

/** Only ever made when pulled: a reader that stops reading stops us, one that leaves ends us. */
const endless = (text: string): ReadableStream<Uint8Array> => {
  const chunk = new TextEncoder().encode(text.repeat(Math.ceil(65_536 / Math.max(1, text.length))));
  return new ReadableStream({ pull: (controller) => controller.enqueue(chunk) });
};

const onAbort = (signal: AbortSignal, then: () => void): void => {
  if (signal.aborted) then();
  else signal.addEventListener("abort", then, { once: true });
};
