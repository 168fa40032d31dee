import { partOf } from "../../platform/buffer-part.ts";
import { ChunkedBody } from "../../platform/chunked-body.ts";
import { passedBytesMax, type Fault, type HttpRequest } from "../../platform/http-request.ts";
import type { PacedBody, Reader } from "../../platform/paced-body.ts";
import type { Peer } from "../../platform/peer.ts";
import { isPaced, type Reply } from "../../platform/reply.ts";
import { ArrivedRequest } from "./arrived-request.ts";
import { readPage } from "./page-body.ts";
import { hasNoBody, linesOf, statusLine } from "./reply-head.ts";
import { RequestBody } from "./request-body.ts";
import { faultyHead, readRequestHead, type RequestHead } from "./request-head.ts";
import { SocketWriter } from "./socket-writer.ts";

/** Whoever has connections, and knows what to answer. */
export interface ConnectionHost {
  readonly answer: (request: HttpRequest, peer: Peer) => Promise<Reply | Response>;
  /** For the next request, or for a peer that does not read its answer. A call that waits for its upstream is not idle. */
  readonly idleSeconds: number;
  /** For a peer that does not read its stream. */
  readonly stalledSeconds: number;
  /** The line that says what time it is. */
  readonly dateLine: string;
  readonly isStopping: boolean;
  openRequests: number;
  readonly onGone: (connection: HttpConnection) => void;
  readonly newId: () => string;
  /** Hears of an error that nobody expected, and by which id its caller was told of it, where an answer could still say so. */
  readonly onBug: (error: unknown, requestId?: string) => void;
}

/** What the listener needs of a socket. */
export interface PeerSocket {
  readonly remoteAddress: string;
  write(bytes: string | Uint8Array, byteOffset?: number, byteLength?: number): number;
  pause(): void;
  resume(): void;
  /** Says that nothing more comes, and still hears what the other side says. */
  shutdown(): void;
  /** Lets go of it. What was sent is still delivered. */
  end(): void;
  /** Breaks it: what was sent is lost, and the other side is told so. */
  terminate(): void;
}

/** As much as Node takes; a head without end must not fill the memory. */
const headBytesMax = 16 * 1024;
/** What comes before anybody asks for it waits at the other side, beyond this. */
const aheadBytesMax = 256 * 1024;
const passingSeconds = 300;
/** What is closed while its client still sends is broken to it, with the answer: so the rest is heard for a while. */
const lingerSeconds = 5;

/** Nothing asked; being answered; the answer on its way; its request's rest let pass; the last word said; nobody there. */
type Phase = "waiting" | "working" | "answering" | "passing" | "ending" | "gone";

/**
 * One connection of a caller's. Requests come in one after the other, and each is answered before the next is looked at.
 * A class without closures, because thousands may be open.
 */
export class HttpConnection implements Peer, Reader {
  readonly #host: ConnectionHost;
  readonly #socket: PeerSocket;
  readonly #writer: SocketWriter;
  #phase: Phase = "waiting";
  /** Seconds in which nothing moved although it should. */
  #quietSeconds = 0;
  /** Seconds since the answer had left, and the rest of its request was let pass. */
  #passingSeconds = 0;
  /** Seconds in which a call could not begin because its body did not come. */
  #bodyAwaitedSeconds = 0;

  /** What came and belongs to no request yet. */
  #ahead: Buffer | undefined;
  #isPaused = false;

  #request: ArrivedRequest | undefined;
  #body: RequestBody | undefined;
  /** What is still to come of a body that told its length. */
  #bodyLeft = 0;
  #chunks: ChunkedBody | undefined;
  #awaitsContinue = false;
  #passedBytes = 0;

  #closes = false;
  #stream: PacedBody | undefined;
  #isChunked = false;
  #headToSend = "";

  constructor(host: ConnectionHost, socket: PeerSocket) {
    this.#host = host;
    this.#socket = socket;
    this.#writer = new SocketWriter(socket, this);
  }

  /** For how long nothing has been asked on it; undefined where something is. The rest of an answered request asks nothing. */
  get idleSeconds(): number | undefined {
    if (this.#phase === "waiting") return this.#quietSeconds;
    return this.#isPassing() ? this.#passingSeconds : undefined;
  }

  /** For how long its call has only waited for a body, before which nothing is done or paid; undefined where it does not. */
  get bodyAwaitedSeconds(): number | undefined {
    return this.#awaitsBody() ? this.#bodyAwaitedSeconds : undefined;
  }

  hasLeft(): boolean {
    return this.#phase === "gone";
  }

  address(): string | undefined {
    return this.#socket.remoteAddress;
  }

  received(piece: Buffer): void {
    if (this.#phase === "gone") return;
    if (this.#phase === "ending") {
      this.#pass(piece.length);
      return;
    }
    if (this.#isBodyArriving()) {
      this.#takeBody(piece);
      return;
    }
    this.#ahead = this.#ahead ? Buffer.concat([this.#ahead, piece]) : piece;
    if (this.#phase === "waiting") this.#readHead(piece.length);
    else if (this.#ahead.length > aheadBytesMax) this.#pause();
  }

  drained(): void {
    if (this.#writer.drain() > 0) this.#quietSeconds = 0;
    if (this.#phase === "answering" && !this.#stream && !this.#writer.isBehind) this.#answered();
  }

  /** The other side has left, or was left. A call that runs goes on without it. */
  lost(): void {
    if (this.#phase === "gone") return;
    const isOpen = this.#phase === "working" || this.#phase === "answering";
    this.#phase = "gone";
    if (isOpen) this.#host.openRequests--;
    this.#ahead = undefined;
    this.#body?.breakOff();
    this.#request?.leave();
    this.#request = undefined;
    this.#writer.lose(new Error(leftUs));
    this.#stream?.cancel();
    this.#stream = undefined;
    this.#host.onGone(this);
  }

  /** Another second has passed. */
  tick(): void {
    this.#quietSeconds++;
    this.#passingSeconds = this.#isPassing() ? this.#passingSeconds + 1 : 0;
    this.#bodyAwaitedSeconds = this.#awaitsBody() ? this.#bodyAwaitedSeconds + 1 : 0;
    const limit = this.#patienceSeconds();
    if (limit === undefined) this.#quietSeconds = 0;
    else if (this.#quietSeconds > limit || this.#passingSeconds > passingSeconds) this.#giveUp();
  }

  /** Nothing new is taken; what runs may end. */
  stop(): void {
    if (this.#phase === "waiting") this.#end();
    else this.#closes = true;
  }

  /** Breaks off an answer that has not left; one that has is delivered. */
  cut(): void {
    if (this.#phase === "working" || this.#phase === "answering") this.terminate();
  }

  terminate(): void {
    if (this.#phase === "gone") return;
    this.#socket.terminate();
    this.lost();
  }

  letGo(): void {
    this.#socket.end();
    this.lost();
  }

  /** Somebody wants more of the body. */
  onWanted(): void {
    if (this.#awaitsContinue) this.#writer.write("HTTP/1.1 100 Continue\r\n\r\n");
    this.#awaitsContinue = false;
    this.#resume();
  }

  /** The next piece of a streamed answer; the first takes the head along, also when it is empty. */
  send(piece: Uint8Array | string): Promise<void> | undefined {
    if (this.#phase !== "answering") throw new Error(leftUs);
    const head = this.#headToSend;
    this.#headToSend = "";
    // A chunk of no length would end the body.
    if (this.#isChunked && piece.length > 0) this.#writer.writeChunk(piece, head);
    else {
      if (head !== "") this.#writer.write(head);
      if (piece.length > 0) this.#writer.write(piece);
    }
    return this.#writer.taken();
  }

  /** Only an answer that its caller does not take is broken off. */
  #giveUp(): void {
    if (this.#phase === "waiting") this.#end();
    else if (this.#phase === "answering") this.terminate();
    else this.letGo();
  }

  #patienceSeconds(): number | undefined {
    switch (this.#phase) {
      case "ending":
        return lingerSeconds;
      case "waiting":
      case "passing":
        return this.#host.idleSeconds;
      case "answering":
        if (!this.#writer.isBehind) return undefined;
        return this.#stream ? this.#host.stalledSeconds : this.#host.idleSeconds;
      case "working":
      case "gone":
        return undefined;
    }
  }

  /** Its answer has left, and what still comes is thrown away. */
  #isPassing(): boolean {
    return this.#phase === "passing" || this.#phase === "ending";
  }

  /** A call that does not read its body may be at work. */
  #awaitsBody(): boolean {
    return this.#phase === "working" && this.#isBodyArriving() && this.#body?.isWanted === true;
  }

  /** Only the last bytes are new: a head may come byte by byte. */
  #readHead(newBytes: number): void {
    let bytes = this.#ahead;
    // Some clients send an empty line of their own behind a body.
    while (bytes?.[0] === CR && bytes[1] === LF) bytes = bytes.subarray(2);
    this.#ahead = bytes;
    if (!bytes) return;
    const from = Math.max(0, bytes.length - newBytes - 3);
    const end = bytes.indexOf(blankLine, from);
    if (end > headBytesMax || (end === -1 && bytes.length > headBytesMax)) this.#refuse(headTooLarge);
    else if (end === -1) {
      if (!isHeadSoFar(bytes, from)) this.#refuse(notHttp);
    } else {
      const head = readRequestHead(bytes.toString("latin1", 0, end + 2));
      if (head) this.#begin(head, bytes, end + 4);
      else this.#refuse(notHttp);
    }
  }

  #begin(head: RequestHead, bytes: Buffer, bodyStart: number): void {
    const { contentLength, chunked, fault } = head;
    const bodyEnd = bodyStart + contentLength;
    this.#phase = "working";
    this.#host.openRequests++;
    this.#quietSeconds = 0;
    this.#closes = !head.keepAlive || fault !== undefined;
    if (!chunked && bodyEnd <= bytes.length) {
      this.#ahead = bodyEnd === bytes.length ? undefined : bytes.subarray(bodyEnd);
      const body = contentLength === 0 ? undefined : partOf(bytes, bodyStart, bodyEnd, copiedBytesMax);
      this.#work(new ArrivedRequest(head, body, undefined));
      return;
    }
    this.#ahead = undefined;
    this.#body = new RequestBody(this);
    this.#bodyLeft = contentLength;
    const chunks = chunked ? new ChunkedBody() : undefined;
    this.#chunks = chunks;
    this.#awaitsContinue = head.awaitsContinue && bytes.length === bodyStart;
    if (bodyStart < bytes.length) this.#takeBody(bytes.subarray(bodyStart));
    // Not every call reads its body, so nobody else may notice.
    const isHttp = chunks?.isMalformed !== true;
    this.#work(new ArrivedRequest(isHttp ? head : { ...head, fault: notHttp }, undefined, this.#body));
  }

  #work(request: ArrivedRequest): void {
    this.#request = request;
    try {
      this.#host.answer(request, this).then(
        (answer) => this.#answer(answer, request),
        (error: unknown) => this.#fail(error, request),
      );
    } catch (error) {
      // Not at once: of requests that come together, each would be answered inside the one before.
      queueMicrotask(() => this.#fail(error, request));
    }
  }

  #fail(error: unknown, request: ArrivedRequest): void {
    const requestId = this.#host.newId();
    this.#host.onBug(error, requestId);
    this.#answer(internalError(requestId), request);
  }

  #isBodyArriving(): boolean {
    return this.#bodyLeft > 0 || this.#chunks !== undefined;
  }

  #takeBody(piece: Buffer): void {
    this.#awaitsContinue = false;
    const data = this.#chunks ? this.#takeChunks(this.#chunks, piece) : this.#takeLength(piece);
    if (this.#phase === "working") this.#body?.push(data);
    else this.#pass(data.length);
    if (!this.#isBodyArriving()) {
      this.#body?.end();
      if (this.#phase === "passing") this.#next();
    } else if (this.#body && !this.#body.isWanted && this.#body.keptBytes > aheadBytesMax) this.#pause();
  }

  #takeLength(piece: Buffer): Buffer {
    const taken = Math.min(piece.length, this.#bodyLeft);
    this.#bodyLeft -= taken;
    if (taken === piece.length) return piece;
    this.#ahead = piece.subarray(taken);
    return piece.subarray(0, taken);
  }

  #takeChunks(chunks: ChunkedBody, piece: Buffer): Buffer {
    const data = chunks.take(piece);
    if (chunks.isMalformed) {
      // Whoever reads it hears that it broke off, and nobody knows where the next request would begin.
      this.#closes = true;
      this.#chunks = undefined;
      this.#body?.breakOff();
    } else if (chunks.hasEnded) {
      this.#chunks = undefined;
      if (chunks.excessBytes > 0) this.#ahead = piece.subarray(piece.length - chunks.excessBytes);
    }
    return data;
  }

  /** Nobody reads what is left of a request that was answered. Whoever sends it has not read the answer by that. */
  #pass(bytes: number): void {
    if (this.#isPassing()) this.#quietSeconds = 0;
    this.#passedBytes += bytes;
    if (this.#passedBytes > passedBytesMax) this.letGo();
  }

  #answer(answer: Reply | Response, request: ArrivedRequest): void {
    if (answer instanceof Response)
      this.#answerPage(answer, request).catch((error: unknown) => this.#breakOff(error));
    else if (this.#request === request) this.#reply(answer, request);
    else if (isPaced(answer.body)) answer.body.cancel();
  }

  async #answerPage(response: Response, request: ArrivedRequest): Promise<void> {
    const { status, headers } = response;
    let body;
    try {
      body = await readPage(response);
    } catch (error) {
      return this.#fail(error, request);
    }
    this.#answer(
      { status, headerLines: linesOf(headers), body, closes: headers.get("connection") === "close" },
      request,
    );
  }

  #reply({ status, headerLines, body, closes }: Reply, { method, head }: ArrivedRequest): void {
    this.#phase = "answering";
    this.#quietSeconds = 0;
    this.#closes ||= closes;
    const start = statusLine(status) + headerLines;
    const isUnsent = hasNoBody(status) || method === "HEAD";
    if (isPaced(body) && !isUnsent) this.#sendStream(start, body, head);
    else if (isPaced(body)) {
      body.cancel();
      this.#sendWhole(start, "", head);
    } else {
      const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
      const lengthLine = hasNoBody(status) ? "" : `content-length: ${length}\r\n`;
      this.#sendWhole(start + lengthLine, isUnsent ? "" : body, head);
    }
  }

  #sendWhole(start: string, body: string | Uint8Array, head: RequestHead): void {
    const text = `${start}${this.#connectionLine(head)}${this.#host.dateLine}\r\n`;
    if (typeof body === "string") this.#writer.write(text + body);
    else if (body.length <= joinedBytesMax) {
      this.#writer.write(Buffer.concat([Buffer.from(text), body]));
    } else {
      this.#writer.write(text);
      this.#writer.write(body);
    }
    if (!this.#writer.isBehind) this.#answered();
  }

  #sendStream(start: string, body: PacedBody, head: RequestHead): void {
    // Where nothing else frames it, a body goes on to the connection's end.
    this.#isChunked = !head.isHttp10;
    this.#closes ||= head.isHttp10;
    this.#stream = body;
    const framing = this.#isChunked ? "transfer-encoding: chunked\r\n" : "";
    this.#headToSend = `${start}${framing}${this.#connectionLine(head)}${this.#host.dateLine}\r\n`;
    this.#writeStream(body).catch((error: unknown) => this.#breakOff(error));
  }

  async #writeStream(body: PacedBody): Promise<void> {
    await body.write(this);
    await this.#writer.taken();
    if (this.#stream !== body) return;
    this.#stream = undefined;
    this.#writer.write(this.#headToSend + (this.#isChunked ? "0\r\n\r\n" : ""));
    this.#headToSend = "";
    if (!this.#writer.isBehind) this.#answered();
  }

  /** An answer failed that cannot be taken back. Where its peer has left, that is why. */
  #breakOff(error: unknown): void {
    if (this.#phase === "gone") return;
    this.#host.onBug(error);
    this.terminate();
  }

  /** Decided at last: by then it is known whether we stop, and whether the rest of the request can be let pass. */
  #connectionLine(head: RequestHead): string {
    const isRestUnsure = this.#isBodyArriving() && (this.#awaitsContinue || this.#bodyLeft > passedBytesMax);
    this.#closes ||= this.#host.isStopping || isRestUnsure;
    if (this.#closes) return "connection: close\r\n";
    return head.isHttp10 ? "connection: keep-alive\r\n" : "";
  }

  /** All of the answer has left. */
  #answered(): void {
    if (this.#phase !== "answering") return;
    this.#host.openRequests--;
    this.#request = undefined;
    this.#passedBytes = 0;
    this.#quietSeconds = 0;
    this.#body?.breakOff();
    if (this.#closes || !this.#isBodyArriving()) this.#next();
    else {
      this.#phase = "passing";
      this.#resume();
    }
  }

  #next(): void {
    this.#body = undefined;
    if (this.#closes) {
      this.#end();
      return;
    }
    this.#phase = "waiting";
    this.#quietSeconds = 0;
    this.#resume();
    if (this.#ahead) this.#readHead(this.#ahead.length);
  }

  /** What follows cannot be understood either. */
  #refuse(fault: Fault): void {
    this.#begin(faultyHead(fault), nothing, 0);
  }

  #end(): void {
    this.#phase = "ending";
    this.#quietSeconds = 0;
    this.#ahead = undefined;
    this.#resume();
    this.#socket.shutdown();
  }

  #pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }
}

const nothing = Buffer.alloc(0);
const leftUs = "The other side has left.";
const blankLine = Buffer.from("\r\n\r\n");
const CR = 0x0d;
const LF = 0x0a;

/** What is no head is told at once: nobody knows whether more of it will come. */
function isHeadSoFar(bytes: Buffer, from: number): boolean {
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at - 1] !== CR) return false;
  }
  return true;
}

const copiedBytesMax = 4_096;
/** One copy costs less than a second way into the kernel. */
const joinedBytesMax = 64 * 1024;

const notHttp: Fault = { code: "invalid_parameters", message: "the request is not valid HTTP/1.1" };
const headTooLarge: Fault = {
  code: "headers_too_large",
  message: `the head of the request is larger than ${headBytesMax / 1024} KiB`,
};

const internalError = (requestId: string): Reply => ({
  status: 500,
  headerLines: `x-request-id: ${requestId}\r\ncontent-type: application/json\r\n`,
  body: JSON.stringify({ error: "internal error", code: "internal", request_id: requestId }),
  closes: false,
});
