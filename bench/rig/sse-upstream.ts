// An upstream that speaks in events as a model does: one event, one write, one pause. nginx would send all hundred in
// one piece, and whoever passes them on would meet them as one. It counts what it sends, so that CPU time is divided by
// events that really passed. Run as a program it is the upstream; imported it starts one.

import { streamedChat } from "../scenarios/streamed-chat.ts";
import { findFreePort } from "../../test/support/free-port.ts";
import { openBunProcess } from "./bun-process.ts";
import type { Upstream } from "./upstream.ts";

export interface SseUpstream extends Upstream {
  readonly eventsSent: () => Promise<number>;
}

/** `pauseMs` lies between the events of one stream; streams are not in step with each other. */
export async function openSseUpstream(pauseMs: number): Promise<SseUpstream> {
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const environment = { PORT: String(port), PAUSE_MS: String(pauseMs) };
  const running = await openBunProcess([import.meta.path], environment, url);
  return {
    port,
    url: `${url}/v1`,
    eventsSent: async () => Number(await (await fetch(`${url}/sent`)).text()),
    close: running.close,
  };
}

interface Connection {
  received: Buffer;
  /** The next event to send; undefined when nothing is being answered. */
  next: number | undefined;
  dueMs: number;
  /** What the socket did not take yet. A slow reader slows its own stream only. */
  unsent: Uint8Array;
}

const nothing = new Uint8Array();
const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

if (import.meta.main) serve(Number(process.env["PORT"]), Number(process.env["PAUSE_MS"]));

function serve(port: number, pauseMs: number): void {
  const writes = writesOf(streamedChat.answer.body);
  const streaming = new Set<Bun.Socket<Connection>>();
  let sent = 0;

  const sendNext = (socket: Bun.Socket<Connection>, nowMs: number): void => {
    const { data } = socket;
    const write = writes[data.next ?? 0];
    if (write === undefined || data.unsent.length > 0) return;
    send(socket, write);
    sent++;
    data.dueMs += pauseMs;
    if (data.dueMs < nowMs) data.dueMs = nowMs;
    data.next = (data.next ?? 0) + 1;
    if (data.next < writes.length) return;
    data.next = undefined;
    streaming.delete(socket);
  };

  setInterval(() => {
    const nowMs = performance.now();
    for (const socket of streaming) if (socket.data.dueMs <= nowMs) sendNext(socket, nowMs);
  }, 1);

  Bun.listen<Connection>({
    hostname: "127.0.0.1",
    port,
    socket: {
      open: (socket) => {
        socket.data = { received: Buffer.alloc(0), next: undefined, dueMs: 0, unsent: nothing };
      },
      data: (socket, bytes) => {
        const { data } = socket;
        data.received = Buffer.concat([data.received, bytes]);
        const asked = takeRequest(data);
        if (asked === undefined) return;
        if (asked.startsWith("GET"))
          return send(socket, plainAnswer(asked.includes("/sent") ? `${sent}` : "ready"));
        data.next = 0;
        data.dueMs = performance.now();
        streaming.add(socket);
        sendNext(socket, data.dueMs);
      },
      drain: (socket) => send(socket, nothing),
      close: (socket) => void streaming.delete(socket),
      error: (socket) => void streaming.delete(socket),
    },
  });
}

function send(socket: Bun.Socket<Connection>, bytes: Uint8Array): void {
  const all = socket.data.unsent.length === 0 ? bytes : Buffer.concat([socket.data.unsent, bytes]);
  const taken = socket.write(all);
  socket.data.unsent = taken >= all.length ? nothing : all.subarray(Math.max(0, taken));
}

/** The request line once a request is here whole; nobody sends a second one before its answer. */
function takeRequest(connection: Connection): string | undefined {
  const headEnd = connection.received.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const head = connection.received.toString("latin1", 0, headEnd);
  const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? 0);
  const chunked = /^transfer-encoding: chunked$/im.test(head);
  const complete = chunked
    ? connection.received.includes("0\r\n\r\n", headEnd)
    : connection.received.length >= headEnd + 4 + length;
  if (!complete) return undefined;
  connection.received = Buffer.alloc(0);
  return head.slice(0, head.indexOf("\r\n"));
}

const plainAnswer = (text: string): Uint8Array =>
  Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`);

/** One write for each event: the first brings the head along, the last what ends the stream. */
function writesOf(body: string): Uint8Array[] {
  const events = body.match(/data: \{.*\n\n/g) ?? [];
  const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
  return events.map((event, at) => {
    const before = at === 0 ? streamHead : "";
    const after = at === events.length - 1 ? `${chunk("data: [DONE]\n\n")}0\r\n\r\n` : "";
    return Buffer.from(before + chunk(event) + after);
  });
}
