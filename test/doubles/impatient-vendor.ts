// A vendor on a raw socket whose answers do not end, and who cuts off whoever takes nothing of them for a moment, as proxies
// do.

import { createServer, type AddressInfo, type Socket } from "node:net";

const patienceMs = 1_000;

interface ImpatientVendor {
  readonly url: string;
  /** How many were cut off so far. */
  readonly cuts: () => number;
  readonly close: () => Promise<void>;
}

export async function openImpatientVendor(): Promise<ImpatientVendor> {
  let cuts = 0;
  const stream = (socket: Socket): void => {
    while (socket.write(chunk));
    const patience = setTimeout(() => {
      cuts++;
      socket.resetAndDestroy();
    }, patienceMs);
    socket.once("drain", () => {
      clearTimeout(patience);
      stream(socket);
    });
  };
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      socket.write(head);
      stream(socket);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  // It listens on a port, so this is no path.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    cuts: () => cuts,
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  };
}

const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const delta = { content: "w".repeat(16_000) };
const event = `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "gpt-x", choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
const chunk = `${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`;
