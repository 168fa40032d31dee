// A vendor's server on a raw socket: it records what arrived, byte for byte, and answers as told.

import { createServer } from "node:net";
import type { Server, Socket } from "node:net";

import { headerValues, takeRequest } from "./http-wire.ts";
import type { WireRequest } from "./http-wire.ts";
import { playAnswer } from "./play-answer.ts";
import type { Answer, ScriptedAnswer } from "./scripted-answer.ts";
import { write } from "./socket-writes.ts";

export interface RecordedRequest extends WireRequest {
  /** Which connection carried it, counted from 0: equal numbers prove reuse. */
  readonly connection: number;
}

export type Handler = (request: RecordedRequest) => Answer | Promise<Answer>;

/** Keys are `METHOD /path`, matched exactly; `*` answers what no other key matches. */
export type Handlers = Readonly<Record<string, Handler>>;

export interface VendorDouble {
  /** The base address an operator would configure. */
  readonly url: string;
  readonly port: number;
  /** Complete requests, in order of arrival. */
  readonly requests: readonly RecordedRequest[];
  /** What was not well-formed HTTP, and what a handler threw: expected to stay empty. */
  readonly violations: readonly string[];
  /** Queues an answer for one request; without one the handler answers. First in, first out. */
  readonly answerNext: (scripted: ScriptedAnswer) => void;
  readonly connections: () => { readonly opened: number; readonly open: number };
  readonly close: () => Promise<void>;
}

/** The request that arrived last; there must be one. */
export function last({ requests }: Pick<VendorDouble, "requests">): RecordedRequest {
  const request = requests.at(-1);
  if (!request) throw new Error("nothing arrived");
  return request;
}

export const openVendorDouble = async ({
  handlers,
  basePath = "",
}: {
  readonly handlers: Handlers;
  readonly basePath?: string;
}): Promise<VendorDouble> => {
  const requests: RecordedRequest[] = [];
  const violations: string[] = [];
  const script: ScriptedAnswer[] = [];

  const answer = async (socket: Socket, request: RecordedRequest): Promise<boolean> => {
    requests.push(request);
    const handle = async (): Promise<Answer> => handlerOf(handlers, request)(request);
    const scripted = script.shift() ?? { kind: "handler" };
    const reusable = await playAnswer({ socket, scripted, handle });
    return reusable && !asksToClose(request);
  };

  const listener = await openListener((socket, connection) => {
    serveConnection({
      socket,
      answer: (request) => answer(socket, { ...request, connection }),
      report: (violation) => violations.push(violation),
    });
  });

  return {
    url: `http://127.0.0.1:${listener.port}${basePath}`,
    port: listener.port,
    requests,
    violations,
    answerNext: (scripted) => {
      script.push(scripted);
    },
    connections: listener.connections,
    close: listener.close,
  };
};

export interface AttackerListener {
  readonly url: string;
  readonly port: number;
  readonly connections: () => number;
  readonly bytes: () => number;
  /** What it was told, for a failing test to show. */
  readonly received: () => string;
  readonly close: () => Promise<void>;
}

/** Where no byte of ours may ever go. It accepts, listens and says nothing. */
export async function openAttackerListener(): Promise<AttackerListener> {
  const received: Buffer[] = [];
  const listener = await openListener((socket) => {
    socket.on("data", (chunk: Buffer) => received.push(chunk));
  });
  return {
    url: `http://127.0.0.1:${listener.port}`,
    port: listener.port,
    connections: () => listener.connections().opened,
    bytes: () => received.reduce((sum, chunk) => sum + chunk.length, 0),
    received: () => Buffer.concat(received).toString("latin1"),
    close: listener.close,
  };
}

function handlerOf(handlers: Handlers, { method, target }: RecordedRequest): Handler {
  const [path = ""] = target.split("?");
  return handlers[`${method} ${path}`] ?? handlers["*"] ?? (() => ({ status: 404 }));
}

function asksToClose({ version, headers }: RecordedRequest): boolean {
  const options = headerValues(headers, "connection").join(",").toLowerCase();
  if (options.includes("close")) return true;
  return version === "HTTP/1.0" && !options.includes("keep-alive");
}

/** One request at a time per connection, in order, as HTTP/1.1 wants it even when pipelined. */
const serveConnection = ({
  socket,
  answer,
  report,
}: {
  readonly socket: Socket;
  readonly answer: (request: WireRequest) => Promise<boolean>;
  readonly report: (violation: string) => void;
}): void => {
  // Pieces are joined only when enough have come: joining at each would make a large body quadratic.
  let pieces: Buffer[] = [];
  let unreadBytes = 0;
  let neededBytes = 0;
  let busy = false;

  const pump = async (): Promise<void> => {
    while (unreadBytes >= neededBytes) {
      const unread = Buffer.concat(pieces);
      pieces = [unread];
      const taken = takeRequest(unread);
      if (taken.state === "partial") {
        neededBytes = taken.needsBytes ?? unreadBytes + 1;
        return;
      }
      if (taken.state === "broken") {
        report(taken.why);
        await write(socket, rawRefusal);
        socket.end();
        return;
      }
      pieces = [unread.subarray(taken.usedBytes)];
      unreadBytes -= taken.usedBytes;
      neededBytes = 1;
      if (await answer(taken.value)) continue;
      socket.end();
      return;
    }
  };

  socket.on("data", (chunk: Buffer) => {
    pieces.push(chunk);
    unreadBytes += chunk.length;
    if (busy || !socket.writable) return;
    busy = true;
    pump()
      .catch((error: unknown) => {
        report(`handler threw: ${String(error)}`);
        socket.destroy();
      })
      .finally(() => {
        busy = false;
      });
  });
};

const rawRefusal = Buffer.from("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");

interface Listener {
  readonly port: number;
  readonly connections: () => { readonly opened: number; readonly open: number };
  readonly close: () => Promise<void>;
}

async function openListener(accept: (socket: Socket, connection: number) => void): Promise<Listener> {
  const open = new Set<Socket>();
  let opened = 0;
  const server = createServer({ noDelay: true }, (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    // A peer that resets is part of the play; "close" follows and is all we need to know.
    socket.on("error", () => undefined);
    accept(socket, opened);
    opened += 1;
  });
  return {
    port: await listen(server),
    connections: () => ({ opened, open: open.size }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

const listen = (server: Server): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      if (address === null || typeof address === "string") reject(new Error("no port"));
      else resolve(address.port);
    });
  });
