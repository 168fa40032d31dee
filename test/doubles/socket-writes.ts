// Writing to a socket whose other end may stop reading, or go, at any moment.

import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";

import type { Ending } from "./scripted-answer.ts";

/** Writes and waits for the kernel to take it; false when the peer is gone. */
export async function write(socket: Socket, bytes: Uint8Array): Promise<boolean> {
  if (isGone(socket)) return false;
  if (!socket.write(bytes)) {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        socket.off("drain", done).off("close", done);
        resolve();
      };
      socket.on("drain", done).on("close", done);
    });
  }
  // A writer that never meets back pressure must not starve the reader in the same process.
  await new Promise((resolve) => setImmediate(resolve));
  return !isGone(socket);
}

/** Sleeps, but not longer than the connection lives; false when the peer is gone. */
export async function sleep(socket: Socket, ms: number): Promise<boolean> {
  await new Promise<void>((resolve) => {
    if (socket.destroyed) {
      resolve();
      return;
    }
    const done = (): void => {
      clearTimeout(timer);
      socket.off("close", done);
      resolve();
    };
    const timer = ms === Infinity ? undefined : setTimeout(done, ms);
    socket.on("close", done);
  });
  return !isGone(socket);
}

/** Ends the connection as told; true when it serves on. */
export async function finish(socket: Socket, how: Ending): Promise<boolean> {
  if (how === "keep") return true;
  if (how === "close") socket.end();
  if (how === "reset") {
    await letRead(socket);
    socket.resetAndDestroy();
  }
  if (how === "hang") await sleep(socket, Infinity);
  return false;
}

/** Gives the peer the time to read what was sent before something ends it. */
export const letRead = (socket: Socket): Promise<boolean> => sleep(socket, readMs);

export const head = ({
  status,
  lines,
}: {
  readonly status: number;
  readonly lines: readonly string[];
}): Uint8Array => {
  const statusLine = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Unknown"}`;
  return Buffer.from(`${[statusLine, ...lines].join("\r\n")}\r\n\r\n`, "latin1");
};

// Long enough for the peer to read what was sent: an RST discards what is still in its buffer.
const readMs = 30;

const isGone = (socket: Socket): boolean => socket.destroyed || !socket.writable;
