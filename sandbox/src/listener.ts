// A fetch function behind a loopback socket. On node:http and not on Bun.serve, because the sandbox must
// be able to break its word: measured on Bun 1.4.4, Bun.serve can reset a connection, but it replaces
// the Content-Length of a stream by chunks, and a body cut short of its length is what a gateway must survive.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { SocketClosed } from "./socket-closed.ts";

export interface Listener {
  readonly url: string;
  /** Until then, connections wait. */
  readonly serve: (fetch: (request: Request) => Promise<Response>) => void;
  readonly close: () => void;
}

export async function openListener({ port }: { port: number }): Promise<Listener> {
  const ready = Promise.withResolvers<(request: Request) => Promise<Response>>();
  const server = createServer((incoming, outgoing) => {
    exchange(ready.promise, incoming, outgoing).catch((error: unknown) => {
      // A fault that closes the socket arrives here as well, and is meant to.
      if (!(error instanceof SocketClosed)) process.stderr.write(`${Bun.inspect(error)}\n`);
      incoming.socket.destroy();
    });
  });
  // Injected latency must meet the caller's patience, not ours.
  server.timeout = 0;
  server.requestTimeout = 0;
  server.keepAliveTimeout = 255_000;

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the listener has no port");

  return {
    url: `http://127.0.0.1:${address.port}`,
    serve: ready.resolve,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function exchange(
  ready: Promise<(request: Request) => Promise<Response>>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const left = new AbortController();
  outgoing.once("close", () => left.abort());

  const body = await readBody(incoming);
  if (body === undefined) {
    outgoing.writeHead(413, { connection: "close" }).end();
    return;
  }
  const fetch = await ready;
  const response = await fetch(requestOf(incoming, body, left.signal));
  outgoing.writeHead(response.status, [...response.headers].flat());
  // A stream's first event may be long in coming; its headers are not.
  if (!response.headers.has("content-length")) outgoing.flushHeaders();
  await send(response, outgoing, left.signal);
}

const bodyBytesMax = 64 * 1024 * 1024;

/** Undefined when it is too large. */
async function readBody(incoming: IncomingMessage): Promise<Buffer<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  // Without an encoding set, a node stream of bytes yields buffers and nothing else.
  for await (const chunk of incoming as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > bodyBytesMax) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function requestOf(incoming: IncomingMessage, body: Buffer<ArrayBuffer>, signal: AbortSignal): Request {
  const headers = new Headers();
  for (let i = 0; i + 1 < incoming.rawHeaders.length; i += 2) {
    headers.append(incoming.rawHeaders[i] ?? "", incoming.rawHeaders[i + 1] ?? "");
  }
  const method = incoming.method ?? "GET";
  const bodiless = method === "GET" || method === "HEAD";
  return new Request(`http://127.0.0.1${incoming.url ?? "/"}`, {
    method,
    headers,
    signal,
    ...(bodiless ? {} : { body }),
  });
}

async function send(response: Response, outgoing: ServerResponse, left: AbortSignal): Promise<void> {
  const reader = response.body?.getReader();
  if (reader === undefined) {
    outgoing.end();
    return;
  }
  // A body that waits for nobody (slow, endless) must hear that its reader left.
  const leave = () => void reader.cancel().catch(() => undefined);
  if (left.aborted) leave();
  else left.addEventListener("abort", leave, { once: true });

  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    if (left.aborted) return;
    if (!outgoing.write(next.value)) await drained(outgoing, left);
  }
  outgoing.end();
}

async function drained(outgoing: ServerResponse, left: AbortSignal): Promise<void> {
  // The write itself may have found the caller gone.
  if (left.aborted) return;
  const { promise, resolve } = Promise.withResolvers<unknown>();
  outgoing.once("drain", resolve);
  left.addEventListener("abort", resolve);
  await promise;
  // An endless body comes here for ever: leave no listener behind.
  outgoing.off("drain", resolve);
  left.removeEventListener("abort", resolve);
}
