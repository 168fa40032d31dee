// Plays a scripted answer onto a raw socket.

import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";

import { gzipLayers, gzipZeros } from "./gzip-bomb.ts";
import { encodeChunk, LAST_CHUNK, toBytes } from "./http-wire.ts";
import type { HeaderPair } from "./http-wire.ts";
import type { Answer, Ending, ScriptedAnswer } from "./scripted-answer.ts";

/** Plays one answer; true when the connection may carry another request. */
export const playAnswer = async ({
  socket,
  scripted,
  handle,
}: {
  readonly socket: Socket;
  readonly scripted: ScriptedAnswer;
  readonly handle: () => Promise<Answer>;
}): Promise<boolean> => {
  if (scripted.kind === undefined) return sendPieces(socket, pieces(scripted));
  switch (scripted.kind) {
    case "handler":
      return sendPieces(socket, pieces(await handle()));
    case "close":
    case "reset":
    case "hang": {
      const { afterBytes = 0, afterWork = false } = scripted;
      if (afterBytes !== 0 || afterWork) {
        const whole = Buffer.concat(pieces(await handle()));
        await write(socket, whole.subarray(0, afterBytes));
      }
      return finish(socket, scripted.kind);
    }
    case "redirect":
      return sendPieces(
        socket,
        pieces({ status: scripted.status, headers: { Location: scripted.location } }),
      );
    case "truncated": {
      const answer = flat(await handle());
      const announced = bodyOf(answer).length + (scripted.missingBytes ?? 16);
      await sendPieces(socket, pieces(withHeaders(answer, [["Content-Length", `${announced}`]])));
      return finish(socket, "close");
    }
    case "garbage":
      await write(socket, toBytes(scripted.bytes ?? "\x16\x03\x01 ceci n'est pas du HTTP\n\n"));
      return finish(socket, "close");
    case "endless":
      return sendEndless(socket, scripted);
    case "huge":
      return sendHuge(socket, scripted.bytes);
    case "slow":
      return sendSlowly(socket, flat(await handle()), scripted);
    case "interim-flood": {
      const { status = 103 } = scripted;
      const interim = head({ status, lines: status === 103 ? ["Link: </a>; rel=preload"] : [] });
      for (let sent = 0; sent < scripted.count; sent += 1) {
        if (!(await write(socket, interim))) return false;
      }
      return sendPieces(socket, pieces(await handle()));
    }
    case "two-content-lengths": {
      const answer = flat(await handle());
      const length = bodyOf(answer).length;
      const [first, second] = scripted.values ?? [`${length}`, `${length + 5}`];
      await sendPieces(
        socket,
        pieces(
          withHeaders(answer, [
            ["Content-Length", first],
            ["Content-Length", second],
          ]),
        ),
      );
      return finish(socket, "close");
    }
    case "not-json": {
      const { contentType = "text/html", body = "<html><body>502 Bad Gateway</body></html>" } = scripted;
      return sendPieces(socket, pieces({ status: 200, headers: { "Content-Type": contentType }, body }));
    }
    case "gzip": {
      const answer = flat(await handle());
      const { layers = 1, expandsToBytes } = scripted;
      const body =
        expandsToBytes === undefined
          ? gzipLayers(bodyOf(answer), layers)
          : gzipLayers(gzipZeros(expandsToBytes), layers - 1);
      const coding = Array.from({ length: layers }, () => "gzip").join(", ");
      const encoded = withHeaders({ ...answer, body }, [["Content-Encoding", coding]]);
      return sendPieces(socket, pieces(encoded));
    }
    case "odd-header":
      await sendPieces(socket, pieces(await handle(), scripted.lines));
      // A parser that read the lines otherwise than we did may be out of step: end here.
      return finish(socket, "close");
    case "bytes":
      await write(socket, toBytes(scripted.bytes));
      return finish(socket, scripted.ending);
  }
};

/** Writes and waits for the kernel to take it; false when the peer is gone. */
export const write = async (socket: Socket, bytes: Uint8Array): Promise<boolean> => {
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
};

// Long enough for the peer to read what was sent: an RST discards what is still in its buffer.
const READ_BEFORE_RESET_MS = 30;
const FLOOD_CHUNK = "a".repeat(64 * 1024);

const isGone = (socket: Socket): boolean => socket.destroyed || !socket.writable;

const finish = async (socket: Socket, how: Ending): Promise<boolean> => {
  if (how === "keep") return true;
  if (how === "close") socket.end();
  if (how === "reset") {
    await sleep(socket, READ_BEFORE_RESET_MS);
    socket.resetAndDestroy();
  }
  if (how === "hang") await sleep(socket, Infinity);
  return false;
};

/** Sleeps, but not longer than the connection lives. */
const sleep = (socket: Socket, ms: number): Promise<void> =>
  new Promise((resolve) => {
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

const head = ({
  status,
  lines,
}: {
  readonly status: number;
  readonly lines: readonly string[];
}): Uint8Array => {
  const statusLine = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Unknown"}`;
  return Buffer.from(`${[statusLine, ...lines].join("\r\n")}\r\n\r\n`, "latin1");
};

const pairsOf = (headers: Answer["headers"] = []): readonly HeaderPair[] =>
  isPairs(headers) ? headers : Object.entries(headers);

const isPairs = (headers: NonNullable<Answer["headers"]>): headers is readonly HeaderPair[] =>
  Array.isArray(headers);

const withHeaders = (answer: Answer, extra: readonly HeaderPair[]): Answer => ({
  ...answer,
  headers: [...pairsOf(answer.headers), ...extra],
});

/** A chunked answer as one body, for the misbehaviours that frame it themselves. */
const flat = ({ chunks, ...answer }: Answer): Answer =>
  chunks ? { ...answer, body: chunks.join("") } : answer;

const bodyOf = (answer: Answer): Uint8Array => toBytes(answer.body ?? "");

const pieces = (answer: Answer, oddLines: readonly string[] = []): readonly Uint8Array[] => {
  const pairs = pairsOf(answer.headers);
  const lines = [...pairs.map(([name, value]) => `${name}: ${value}`), ...oddLines];
  const { status } = answer;
  if (answer.chunks) {
    return [
      head({ status, lines: [...lines, "Transfer-Encoding: chunked"] }),
      ...answer.chunks.map(encodeChunk),
      LAST_CHUNK,
    ];
  }
  const body = bodyOf(answer);
  const isFramed = pairs.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
  const mayHaveBody = status >= 200 && status !== 204 && status !== 304;
  if (!isFramed && (mayHaveBody || body.length > 0)) lines.push(`Content-Length: ${body.length}`);
  return [head({ status, lines }), ...(body.length > 0 ? [body] : [])];
};

const sendPieces = async (socket: Socket, all: readonly Uint8Array[]): Promise<boolean> => {
  // Head and first piece leave together, as a polite server would send them.
  const [first = new Uint8Array(), second = new Uint8Array(), ...rest] = all;
  if (!(await write(socket, Buffer.concat([first, second])))) return false;
  for (const piece of rest) {
    if (!(await write(socket, piece))) return false;
  }
  return true;
};

const sendEndless = async (
  socket: Socket,
  {
    chunk = FLOOD_CHUNK,
    everyMs = 0,
    contentType = "application/json",
  }: { readonly chunk?: string; readonly everyMs?: number; readonly contentType?: string },
): Promise<boolean> => {
  const lines = [`Content-Type: ${contentType}`, "Transfer-Encoding: chunked"];
  await write(socket, head({ status: 200, lines }));
  const encoded = encodeChunk(chunk);
  while (await write(socket, encoded)) {
    if (everyMs > 0) await sleep(socket, everyMs);
  }
  return false;
};

const sendHuge = async (socket: Socket, bytes: number): Promise<boolean> => {
  const [open, shut] = ['{"pad":"', '"}'];
  const lines = ["Content-Type: application/json", `Content-Length: ${bytes}`];
  await write(socket, Buffer.concat([head({ status: 200, lines }), Buffer.from(open)]));
  let left = bytes - open.length - shut.length;
  const block = Buffer.from(FLOOD_CHUNK);
  while (left > 0) {
    if (!(await write(socket, block.subarray(0, Math.min(left, block.length))))) return false;
    left -= block.length;
  }
  return write(socket, Buffer.from(shut));
};

const sendSlowly = async (
  socket: Socket,
  answer: Answer,
  { chunkBytes, everyMs }: { readonly chunkBytes: number; readonly everyMs: number },
): Promise<boolean> => {
  const lines = pairsOf(answer.headers).map(([name, value]) => `${name}: ${value}`);
  lines.push("Transfer-Encoding: chunked");
  await write(socket, head({ status: answer.status, lines }));
  const body = bodyOf(answer);
  for (let at = 0; at < body.length; at += chunkBytes) {
    await sleep(socket, everyMs);
    if (!(await write(socket, encodeChunk(body.subarray(at, at + chunkBytes))))) return false;
  }
  return write(socket, LAST_CHUNK);
};
