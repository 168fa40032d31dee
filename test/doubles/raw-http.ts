// A client without manners: it sends bytes as given and reports whatever comes back.

import { connect } from "node:net";

import { takeResponse } from "./http-wire.ts";
import type { ResponseContext, WireResponse } from "./http-wire.ts";

export interface RawExchange {
  /** All bytes received, as latin1: one character per byte, nothing lost. */
  readonly text: string;
  /** The peer ended the connection, by FIN or RST, within the wait. */
  readonly closed: boolean;
  /** It did so by RST (or never accepted the connection). */
  readonly reset: boolean;
  /** The answers in order, interim (1xx) ones included; what does not parse is only in `text`. */
  readonly responses: readonly WireResponse[];
}

/**
 * Sends bytes (a string goes out as latin1, one byte per character; pass a Uint8Array for UTF-8),
 * then listens until the peer closes, until `expectResponses` final answers are complete, or for
 * `waitMs` (default 1000).
 */
export function sendRaw(
  port: number,
  bytesOrString: string | Uint8Array,
  {
    waitMs = 1000,
    expectResponses = Infinity,
  }: { readonly waitMs?: number; readonly expectResponses?: number } = {},
): Promise<RawExchange> {
  const bytes = latin1(bytesOrString);
  const bodyless = bytes.subarray(0, 5).toString("latin1") === "HEAD ";
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let reset = false;
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });

    const finish = (closed: boolean): void => {
      clearTimeout(timer);
      socket.removeAllListeners("close").destroy();
      const received = Buffer.concat(chunks);
      resolve({
        text: received.toString("latin1"),
        closed,
        reset,
        responses: parseResponses(received, { ended: closed && !reset, last: true, bodyless }),
      });
    };
    const timer = setTimeout(() => finish(false), waitMs);

    socket.on("connect", () => socket.write(bytes));
    socket.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      if (expectResponses === Infinity) return;
      const answers = parseResponses(Buffer.concat(chunks), { ended: false, last: false, bodyless });
      if (answers.filter(({ status }) => status >= 200).length >= expectResponses) finish(false);
    });
    socket.on("error", () => {
      reset = true;
    });
    socket.on("close", () => finish(true));
  });
}

function latin1(content: string | Uint8Array): Buffer {
  if (typeof content !== "string") return Buffer.from(content);
  // Silent truncation to the low byte would send something the test does not show.
  if (/[^\0-\xff]/.test(content)) throw new Error("sendRaw: not latin1; pass a Uint8Array");
  return Buffer.from(content, "latin1");
}

function parseResponses(received: Buffer, context: ResponseContext): readonly WireResponse[] {
  const responses: WireResponse[] = [];
  let rest = received;
  while (rest.length > 0) {
    // Only the first final answer is known to belong to the HEAD that began the bytes.
    const isFirst = responses.every(({ status }) => status < 200);
    const taken = takeResponse(rest, { ...context, bodyless: context.bodyless && isFirst });
    if (taken.state !== "whole") break;
    responses.push(taken.value);
    rest = rest.subarray(taken.usedBytes);
  }
  return responses;
}
