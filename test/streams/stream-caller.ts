// A caller on a raw socket: it can stop reading, and leave, at any byte.

import { connect, type Socket } from "node:net";
import type { TestAccount } from "../support/test-gateway.ts";

export interface StreamCaller {
  /** What came so far, without the framing of chunks. */
  readonly head: () => string;
  readonly body: () => string;
  /** Events and comments that are complete, in order, without their blank line. */
  readonly frames: () => readonly string[];
  /** Resolves when so many frames are there, or when the answer has ended before. */
  readonly untilFrames: (count: number) => Promise<void>;
  /** Resolves when the answer is whole or the connection is gone; true when it is whole. */
  readonly ended: Promise<boolean>;
  /** Stops reading; what the other side still sends stays in the kernel. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Goes away without a word. */
  readonly leave: (how?: "close" | "reset") => void;
}

/** Posts a body as JSON and reads the answer as it comes. */
export function openStreamCaller(
  port: number,
  { account, path, body }: { readonly account: TestAccount; readonly path: string; readonly body: unknown },
): StreamCaller {
  const socket: Socket = connect({ host: "127.0.0.1", port, noDelay: true });
  let received = Buffer.alloc(0);
  let headText = "";
  const decoded: Buffer[] = [];
  let whole = false;
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const check of waiting) check();
  };

  const take = (): void => {
    if (headText === "") {
      const end = received.indexOf("\r\n\r\n");
      if (end === -1) return;
      headText = received.subarray(0, end).toString("latin1");
      received = received.subarray(end + 4);
    }
    while (!whole) {
      const lineEnd = received.indexOf("\r\n");
      if (lineEnd === -1) return;
      const size = Number.parseInt(received.subarray(0, lineEnd).toString("latin1"), 16);
      if (received.length < lineEnd + 2 + size + 2) return;
      if (size === 0) whole = true;
      else decoded.push(received.subarray(lineEnd + 2, lineEnd + 2 + size));
      received = received.subarray(lineEnd + 2 + size + 2);
    }
  };

  const text = JSON.stringify(body);
  socket.on("connect", () => {
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${account.key}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
  });
  const ended = new Promise<boolean>((resolve) => {
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      take();
      wake();
      if (!whole) return;
      resolve(true);
      socket.destroy();
    });
    // A gateway that resets is part of the play; "close" follows.
    socket.on("error", () => undefined);
    socket.on("close", () => {
      resolve(whole);
      wake();
    });
  });

  const bodyText = (): string => Buffer.concat(decoded).toString("utf8");
  const frames = (): readonly string[] => bodyText().split("\n\n").slice(0, -1);
  return {
    head: () => headText,
    body: bodyText,
    frames,
    untilFrames: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (frames().length < count && !socket.destroyed) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    ended,
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    leave: (how = "close") => {
      if (how === "reset") socket.resetAndDestroy();
      else socket.destroy();
    },
  };
}
