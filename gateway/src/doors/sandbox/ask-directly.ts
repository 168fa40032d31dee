// `fetch` asks the proxy that the environment names (HTTP_PROXY), also for a program on this very machine, and cannot be told
// not to. This asks whom it is told to ask.

import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";

interface DirectRequest {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | undefined;
  readonly timeoutMs: number;
}

/** The whole answer, and no redirect is followed. */
export const askDirectly = (
  target: string,
  { method, headers, body, timeoutMs }: DirectRequest,
): Promise<Response> =>
  new Promise((resolve, reject) => {
    const request = target.startsWith("https:") ? httpsRequest : httpRequest;
    const signal = AbortSignal.timeout(timeoutMs);
    const asking = request(target, { method, headers, agent: false, signal }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on("data", (piece: Buffer) => pieces.push(piece));
      answer.on("error", reject);
      answer.on("end", () => {
        try {
          resolve(responseOf(answer, Buffer.concat(pieces)));
        } catch (cause) {
          reject(new Error("The answer has a status that none can have.", { cause }));
        }
      });
    });
    asking.on("error", reject);
    // Who falls silent in the middle of an answer is given up as well.
    signal.addEventListener("abort", () => reject(new Error("No whole answer came in time.")));
    asking.end(body);
  });

function responseOf({ statusCode = 502, rawHeaders }: IncomingMessage, body: Buffer): Response {
  const headers = new Headers();
  for (let at = 0; at < rawHeaders.length; at += 2)
    headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  return new Response(body.length === 0 ? null : new Uint8Array(body), { status: statusCode, headers });
}
