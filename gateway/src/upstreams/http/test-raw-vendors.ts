// Vendors that speak byte by byte, and how their answers look to who asked with the client.

import { createServer, type AddressInfo, type Socket } from "node:net";
import type { NoAnswerReason } from "../../operation/exchanged.ts";
import type { HttpClient, HttpOutcome } from "./http-client.ts";

type Serve = (socket: Socket, received: string, connection: number) => void;

export function createRawVendors() {
  const closers: (() => void)[] = [];

  /** A vendor of whom every byte is written here; it notes what it is sent, connection by connection. */
  const openVendor = async (serve: Serve) => {
    const received: string[] = [];
    const sockets: Socket[] = [];
    const server = createServer({ noDelay: true }, (socket) => {
      const connection = received.push("") - 1;
      sockets.push(socket);
      socket.on("error", () => {});
      socket.on("data", (bytes) => {
        received[connection] += bytes.toString("latin1");
        serve(socket, bytes.toString("latin1"), connection);
      });
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    closers.push(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, sockets };
  };

  return {
    openVendor,
    closeVendors: (): void => {
      for (const close of closers.splice(0)) close();
    },
  };
}

export const post = (
  client: HttpClient,
  url: string,
  body: string | Uint8Array = "{}",
  firstByteTimeoutMs = 1_000,
) => client.send({ url, method: "POST", headers: {}, body, firstByteTimeoutMs });
export const get = (client: HttpClient, url: string, firstByteTimeoutMs = 1_000) =>
  client.send({ url, method: "GET", headers: {}, body: undefined, firstByteTimeoutMs });

export const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
export const answer = (text: string): HttpOutcome => ({
  kind: "answered",
  status: 200,
  contentType: undefined,
  retryAfter: undefined,
  date: undefined,
  body: Buffer.from(text),
});
export const noAnswer = (reason: NoAnswerReason, sent: boolean): HttpOutcome => ({
  kind: "no_answer",
  reason,
  sent,
});
