// What the tests of a connection share: peers that speak HTTP by hand, and a connection without a socket.

import { afterAll } from "bun:test";
import { connect } from "node:net";
import { until } from "../../../../test/support/until.ts";
import type { Reply } from "../../platform/reply.ts";
import { createListen, type Listening } from "../listen.ts";
import type { ConnectionHost } from "./connection-host.ts";
import { HttpConnection } from "./http-connection.ts";
import type { PeerSocket } from "./peer-socket.ts";

export const reply = (body: Reply["body"], more: Partial<Reply> = {}): Reply => ({
  status: 200,
  headerLines: "content-type: text/plain\r\n",
  body,
  closes: false,
  ...more,
});

/** To be called once in a file of tests; what it opened is closed after the last of them. */
export function useListeners() {
  const opened: Listening[] = [];
  afterAll(async () => {
    for (const server of opened) await server.stop(true);
  });
  return {
    listen: (answer: ConnectionHost["answer"]): Listening => {
      const server = createListen()({ host: "127.0.0.1", port: 0, answer });
      opened.push(server);
      return server;
    },
  };
}

/** A peer that sends bytes, and keeps all that it hears. */
export function peerOf(port: number) {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let heard = "";
  socket.setEncoding("latin1").on("data", (text: string) => (heard += text));
  socket.on("error", () => {});
  const hears = async (what: string): Promise<string> => {
    // Whoever compares what was heard says more about what was not.
    await until(() => heard.includes(what), 5_000).catch(() => {});
    return heard;
  };
  return { socket, heard: () => heard, hears, ended: new Promise((resolve) => socket.once("end", resolve)) };
}

export const get = (target: string, ...lines: string[]): string =>
  [`GET ${target} HTTP/1.1`, "Host: x", ...lines, "", ""].join("\r\n");
export const post = (body: string, ...lines: string[]): string =>
  `${["POST / HTTP/1.1", "Host: x", `Content-Length: ${body.length}`, ...lines].join("\r\n")}\r\n\r\n${body}`;

/** The bodies of answers that told their length. */
export function bodiesIn(heard: string): string[] {
  const bodies: string[] = [];
  for (let rest = heard; rest !== "";) {
    const end = rest.indexOf("\r\n\r\n") + 4;
    const length = Number(/content-length: (\d+)/.exec(rest.slice(0, end))?.[1]);
    bodies.push(rest.slice(end, end + length));
    rest = rest.slice(end + length);
  }
  return bodies;
}

/** A connection without a socket. */
export function openFake(answer: ConnectionHost["answer"]) {
  let written = "";
  const paused: boolean[] = [];
  const ends: string[] = [];
  const bugs: { readonly error: unknown; readonly requestId: string | undefined }[] = [];
  let ids = 0;
  const line = { isDead: false, takesBytesAtOnce: Number.POSITIVE_INFINITY };
  const socket: PeerSocket = {
    remoteAddress: "127.0.0.1",
    write: (bytes, offset = 0, length = bytes.length) => {
      if (line.isDead) return -1;
      const sent = typeof bytes === "string" ? Buffer.from(bytes) : bytes.subarray(offset, offset + length);
      const taken = sent.subarray(0, line.takesBytesAtOnce);
      written += Buffer.from(taken).toString("latin1");
      return taken.length;
    },
    pause: () => void paused.push(true),
    resume: () => void paused.push(false),
    shutdown: () => void ends.push("shutdown"),
    end: () => void ends.push("end"),
    terminate: () => void ends.push("terminate"),
  };
  const host: { -readonly [Part in keyof ConnectionHost]: ConnectionHost[Part] } = {
    answer,
    idleSeconds: 60,
    keptSeconds: 650,
    stalledSeconds: 60,
    dateLine: "",
    isStopping: false,
    openRequests: 0,
    onBehind: () => {},
    onGone: () => {},
    newId: () => `id ${++ids}`,
    onBug: (error, requestId) => void bugs.push({ error, requestId }),
  };
  const connection = new HttpConnection(host, socket);
  return { connection, host, socket, written: () => written, paused, ends, line, bugs };
}
