// Plays a scripted answer onto a raw socket.

import type { Socket } from "node:net";

import { gzipLayers, gzipZeros } from "./gzip-bomb.ts";
import { encodeChunk, lastChunk, toBytes } from "./http-wire.ts";
import type { HeaderPair } from "./http-wire.ts";
import { playStream } from "./play-stream.ts";
import type { Answer, ScriptedAnswer, StreamScript } from "./scripted-answer.ts";
import { finish, head, sleep, write } from "./socket-writes.ts";

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
      return send(socket, await handle());
    case "stream":
      return send(socket, await handle(), scripted);
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

const floodChunk = "a".repeat(64 * 1024);

/** An answer as it is, or, where it streams, as the script tells it. */
function send(socket: Socket, answer: Answer, script: StreamScript = {}): Promise<boolean> {
  const { stream } = answer;
  if (!stream) return sendPieces(socket, pieces(answer));
  const lines = pairsOf(answer.headers).map(([name, value]) => `${name}: ${value}`);
  lines.push("Transfer-Encoding: chunked");
  return playStream({ socket, head: head({ status: answer.status, lines }), stream, script });
}

const pairsOf = (headers: Answer["headers"] = []): readonly HeaderPair[] =>
  isPairs(headers) ? headers : Object.entries(headers);

const isPairs = (headers: NonNullable<Answer["headers"]>): headers is readonly HeaderPair[] =>
  Array.isArray(headers);

const withHeaders = (answer: Answer, extra: readonly HeaderPair[]): Answer => ({
  ...answer,
  headers: [...pairsOf(answer.headers), ...extra],
});

/** A chunked answer as one body, for the misbehaviours that frame it themselves. */
function flat({ chunks, stream, ...answer }: Answer): Answer {
  const parts = stream?.events.map(({ wire }) => wire) ?? chunks;
  return parts ? { ...answer, body: parts.join("") } : answer;
}

const bodyOf = (answer: Answer): Uint8Array => toBytes(answer.body ?? "");

function pieces(answer: Answer, oddLines: readonly string[] = []): readonly Uint8Array[] {
  const pairs = pairsOf(answer.headers);
  const lines = [...pairs.map(([name, value]) => `${name}: ${value}`), ...oddLines];
  const { status } = answer;
  const chunks = answer.stream?.events.map(({ wire }) => wire) ?? answer.chunks;
  if (chunks) {
    return [
      head({ status, lines: [...lines, "Transfer-Encoding: chunked"] }),
      ...chunks.map(encodeChunk),
      lastChunk,
    ];
  }
  const body = bodyOf(answer);
  const isFramed = pairs.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name));
  const mayHaveBody = status >= 200 && status !== 204 && status !== 304;
  if (!isFramed && (mayHaveBody || body.length > 0)) lines.push(`Content-Length: ${body.length}`);
  return [head({ status, lines }), ...(body.length > 0 ? [body] : [])];
}

async function sendPieces(socket: Socket, all: readonly Uint8Array[]): Promise<boolean> {
  // Head and first piece leave together, as a polite server would send them.
  const [first = new Uint8Array(), second = new Uint8Array(), ...rest] = all;
  if (!(await write(socket, Buffer.concat([first, second])))) return false;
  for (const piece of rest) {
    if (!(await write(socket, piece))) return false;
  }
  return true;
}

async function sendEndless(
  socket: Socket,
  {
    chunk = floodChunk,
    everyMs = 0,
    contentType = "application/json",
  }: { readonly chunk?: string; readonly everyMs?: number; readonly contentType?: string },
): Promise<boolean> {
  const lines = [`Content-Type: ${contentType}`, "Transfer-Encoding: chunked"];
  await write(socket, head({ status: 200, lines }));
  const encoded = encodeChunk(chunk);
  while (await write(socket, encoded)) {
    if (everyMs > 0) await sleep(socket, everyMs);
  }
  return false;
}

async function sendHuge(socket: Socket, bytes: number): Promise<boolean> {
  const [open, shut] = ['{"pad":"', '"}'];
  const lines = ["Content-Type: application/json", `Content-Length: ${bytes}`];
  await write(socket, Buffer.concat([head({ status: 200, lines }), Buffer.from(open)]));
  let left = bytes - open.length - shut.length;
  const block = Buffer.from(floodChunk);
  while (left > 0) {
    if (!(await write(socket, block.subarray(0, Math.min(left, block.length))))) return false;
    left -= block.length;
  }
  return write(socket, Buffer.from(shut));
}

async function sendSlowly(
  socket: Socket,
  answer: Answer,
  { chunkBytes, everyMs }: { readonly chunkBytes: number; readonly everyMs: number },
): Promise<boolean> {
  const lines = pairsOf(answer.headers).map(([name, value]) => `${name}: ${value}`);
  lines.push("Transfer-Encoding: chunked");
  await write(socket, head({ status: answer.status, lines }));
  const body = bodyOf(answer);
  for (let at = 0; at < body.length; at += chunkBytes) {
    await sleep(socket, everyMs);
    if (!(await write(socket, encodeChunk(body.subarray(at, at + chunkBytes))))) return false;
  }
  return write(socket, lastChunk);
}
