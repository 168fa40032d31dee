import { partOf } from "../../platform/buffer-part.ts";
import { passedBytesMax, type Fault } from "../../platform/http-request.ts";
import type { PacedBody, Reader } from "../../platform/paced-body.ts";
import type { Peer } from "../../platform/peer.ts";
import { isPaced, type Answered, type OwnedPage, type Reply } from "../../platform/reply.ts";
import { ArrivedRequest } from "./arrived-request.ts";
import type { ConnectionHost } from "./connection-host.ts";
import { headEndIn, notHttp } from "./head-end.ts";
import { readPage } from "./page-body.ts";
import type { PeerSocket } from "./peer-socket.ts";
import { hasNoBody, linesOf, statusLine } from "./reply-head.ts";
import { RequestBody } from "./request-body.ts";
import { faultyHead, readRequestHead, type RequestHead } from "./request-head.ts";
import { SocketWriter } from "./socket-writer.ts";
import type { Unread } from "./unread-room.ts";

/** As many bytes that nobody has asked for yet are kept; the rest has to wait at the other side. */
const aheadBytesMax = 256 * 1024;
/** The rest of an answered request is read and thrown away for no longer than this, however steadily it comes. */
const passingSeconds = 300;
/** A client that is still sending when its connection is closed loses the answer, so it is listened to for a while. */
const lingerSeconds = 5;

type Phase =
  /** No request is under way. */
  | "waiting"
  /** A request is being answered. */
  | "working"
  /** The answer is being sent. */
  | "answering"
  /** The answer has been sent, and the rest of its request is read and thrown away. */
  | "passing"
  /** Everything was sent, and nothing new is taken. */
  | "ending"
  /** Nobody is there. */
  | "gone";

/**
 * One connection of a caller's. Requests come in one after the other, and each is answered before the next is looked at.
 * A class without closures, because thousands may be open.
 */
export class HttpConnection implements Peer, Reader, Unread {
  readonly #host: ConnectionHost;
  readonly #socket: PeerSocket;
  readonly #writer: SocketWriter;
  #phase: Phase = "waiting";
  /** For how long nothing has moved although something should. */
  #quietSeconds = 0;
  /** For how long the rest of an answered request has been thrown away. */
  #passingSeconds = 0;
  /** For how long a call has waited for its body before it can begin. */
  #bodyAwaitedSeconds = 0;

  /** Bytes that came and belong to no request yet. */
  #ahead: Buffer | undefined;
  /** They are looked at when others have had their turn. */
  #letsOthersIn = false;
  #isPaused = false;

  #request: ArrivedRequest | undefined;
  /** The body of the request, where it was not there with the head. */
  #body: RequestBody | undefined;
  #awaitsContinue = false;
  #passedBytes = 0;
  /** It has had a request, and was kept for another. */
  #isKept = false;

  #closes = false;
  #owner: string | undefined;
  #stream: PacedBody | undefined;

  constructor(host: ConnectionHost, socket: PeerSocket) {
    this.#host = host;
    this.#socket = socket;
    this.#writer = new SocketWriter(socket, this);
  }

  /**
   * For how long no request has been under way; undefined while one is. The rest of an answered request does not count as
   * one.
   */
  get idleSeconds(): number | undefined {
    if (this.#phase === "waiting") return this.#quietSeconds;
    return this.#isPassing() ? this.#passingSeconds : undefined;
  }

  /** For how long its call has only waited for its body, before which nothing is done or paid; undefined while it does not. */
  get bodyAwaitedSeconds(): number | undefined {
    return this.#awaitsBody() ? this.#bodyAwaitedSeconds : undefined;
  }

  /** How much of its answer is kept until the peer takes it. */
  get keptBytes(): number {
    return this.#writer.keptBytes;
  }

  get behindSeconds(): number {
    return this.#writer.behindSeconds;
  }

  /** For how long it has left an answer unread that is nobody's; undefined where there is none. */
  get pageUnreadSeconds(): number | undefined {
    return this.#owner === undefined && this.#writer.isBehind ? this.behindSeconds : undefined;
  }

  /** Whose answer was sent last. */
  get owner(): string | undefined {
    return this.#owner;
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
    const body = this.#body;
    if (body?.isArriving === true) {
      this.#takeBody(body, piece);
      return;
    }
    // The head of a request that has begun may not take as long as it was waited for.
    if (!this.#ahead && this.#phase === "waiting" && this.#isKept) this.#quietSeconds = 0;
    this.#ahead = this.#ahead ? Buffer.concat([this.#ahead, piece]) : piece;
    if (this.#phase === "waiting" && !this.#letsOthersIn) this.#readHead(piece.length);
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
    const isTooSlow = this.#writer.tick() || this.#passingSeconds > passingSeconds;
    const limit = this.#patienceSeconds();
    if (limit === undefined) this.#quietSeconds = 0;
    else if (this.#quietSeconds > limit || isTooSlow) this.#giveUp();
  }

  /** Nothing new is taken; what runs may end. */
  stop(): void {
    if (this.#phase === "waiting") this.#end();
    else this.#closes = true;
  }

  /** Breaks off an answer that has not been sent completely; one that has is still delivered. */
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

  /** The next piece of a streamed answer. */
  send(piece: Uint8Array | string): Promise<void> | undefined {
    if (this.#phase !== "answering") throw new Error(leftUs);
    this.#writer.writePiece(piece);
    const behind = this.#writer.taken();
    if (!behind) return undefined;
    this.#host.onBehind(this);
    // There may have been no room for it. Whoever waited then would wait for nobody.
    if (this.hasLeft()) throw new Error(leftUs);
    return behind;
  }

  #readHead(newBytes: number): void {
    let bytes = this.#ahead;
    // Some clients send an extra empty line after a body.
    while (bytes?.[0] === CR && bytes[1] === LF) bytes = bytes.subarray(2);
    this.#ahead = bytes;
    if (!bytes) return;
    const end = headEndIn(bytes, newBytes);
    if (end === undefined) return;
    if (typeof end === "number") {
      const head = readRequestHead(bytes.toString("latin1", 0, end + 2));
      if (head) this.#begin(head, bytes, end + 4);
      else this.#refuse(notHttp);
    } else this.#refuse(end);
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
    const body = new RequestBody(this, head);
    this.#body = body;
    this.#awaitsContinue = head.awaitsContinue && bytes.length === bodyStart;
    if (bodyStart < bytes.length) this.#takeBody(body, bytes.subarray(bodyStart));
    // Not every call reads its body, so nothing else might notice.
    this.#work(new ArrivedRequest(body.isMalformed ? { ...head, fault: notHttp } : head, undefined, body));
  }

  #work(request: ArrivedRequest): void {
    this.#request = request;
    try {
      this.#host.answer(request, this).then(
        (answer) => this.#answer(answer, request),
        (error: unknown) => this.#fail(error, request),
      );
    } catch (error) {
      // Not at once: of requests that come together, each would be answered within the answer to the one before.
      queueMicrotask(() => this.#fail(error, request));
    }
  }

  #fail(error: unknown, request: ArrivedRequest): void {
    const requestId = this.#host.newId();
    this.#host.onBug(error, requestId);
    this.#answer(internalError(requestId), request);
  }

  #takeBody(body: RequestBody, piece: Buffer): void {
    this.#awaitsContinue = false;
    const data = body.take(piece);
    this.#ahead = body.excess;
    // Nobody knows where the next request would begin.
    if (body.isMalformed) this.#closes = true;
    if (this.#phase === "working") body.push(data);
    else this.#pass(data.length);
    if (!body.isArriving) {
      body.end();
      if (this.#phase === "passing") this.#next();
    } else if (!body.isWanted && body.keptBytes > aheadBytesMax) this.#pause();
  }

  /** Nobody reads the rest of an answered request. That it is still being sent does not mean that the answer was read. */
  #pass(bytes: number): void {
    if (this.#isPassing()) this.#quietSeconds = 0;
    this.#passedBytes += bytes;
    if (this.#passedBytes > passedBytesMax) this.letGo();
  }

  #answer(answer: Answered, request: ArrivedRequest): void {
    if (answer instanceof Response) this.#answer({ page: answer, owner: undefined }, request);
    else if ("page" in answer)
      this.#answerPage(answer, request).catch((error: unknown) => this.#breakOff(error));
    else if (this.#request === request) this.#reply(answer, request);
    else if (isPaced(answer.body)) answer.body.cancel();
  }

  async #answerPage({ page, owner }: OwnedPage, request: ArrivedRequest): Promise<void> {
    const { status, headers } = page;
    let body;
    try {
      body = await readPage(page);
    } catch (error) {
      return this.#fail(error, request);
    }
    this.#answer(
      { status, headerLines: linesOf(headers), body, closes: headers.get("connection") === "close", owner },
      request,
    );
  }

  #reply({ status, headerLines, body, closes, owner }: Reply, { method, head }: ArrivedRequest): void {
    this.#phase = "answering";
    this.#owner = owner;
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
    this.#writer.writeWhole(`${start}${this.#connectionLine(head)}${this.#host.dateLine}\r\n`, body);
    if (this.#writer.isBehind) this.#host.onBehind(this);
    else this.#answered();
  }

  #sendStream(start: string, body: PacedBody, head: RequestHead): void {
    // A body that nothing else frames ends with the connection.
    const isChunked = !head.isHttp10;
    this.#closes ||= head.isHttp10;
    this.#stream = body;
    const framing = isChunked ? "transfer-encoding: chunked\r\n" : "";
    const text = `${start}${framing}${this.#connectionLine(head)}${this.#host.dateLine}\r\n`;
    this.#writer.beginPieces(text, isChunked);
    this.#writeStream(body).catch((error: unknown) => this.#breakOff(error));
  }

  async #writeStream(body: PacedBody): Promise<void> {
    await body.write(this);
    await this.#writer.taken();
    if (this.#stream !== body) return;
    this.#stream = undefined;
    this.#writer.endPieces();
    if (!this.#writer.isBehind) this.#answered();
  }

  /** An answer failed that has already begun. If the peer has left, that is why. */
  #breakOff(error: unknown): void {
    if (this.#phase === "gone") return;
    this.#host.onBug(error);
    this.terminate();
  }

  /**
   * Decided as late as possible: by then it is known whether we stop, and whether the rest of the request is short enough to
   * throw away.
   */
  #connectionLine(head: RequestHead): string {
    const body = this.#body;
    const isRestUnsure =
      body?.isArriving === true && (this.#awaitsContinue || body.bytesLeft > passedBytesMax);
    this.#closes ||= this.#host.isStopping || isRestUnsure;
    if (this.#closes) return "connection: close\r\n";
    return head.isHttp10 ? "connection: keep-alive\r\n" : "";
  }

  /** All of the answer has been sent. */
  #answered(): void {
    if (this.#phase !== "answering") return;
    this.#host.openRequests--;
    this.#request = undefined;
    this.#passedBytes = 0;
    this.#quietSeconds = 0;
    this.#body?.breakOff();
    if (this.#closes || this.#body?.isArriving !== true) this.#next();
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
    this.#isKept = true;
    this.#resume();
    if (!this.#ahead) return;
    // Else of a thousand requests that come together, each would be answered within the one before, and nobody else meanwhile.
    this.#letsOthersIn = true;
    setImmediate(() => this.#readAhead());
  }

  #readAhead(): void {
    this.#letsOthersIn = false;
    if (this.#phase === "waiting" && this.#ahead) this.#readHead(this.#ahead.length);
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

  /** Only an answer that its peer does not take is broken off. */
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
        return this.#isKept && !this.#ahead ? this.#host.keptSeconds : this.#host.idleSeconds;
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

  /** The answer has been sent, and what still comes is thrown away. */
  #isPassing(): boolean {
    return this.#phase === "passing" || this.#phase === "ending";
  }

  /** False for a call that works without reading its body. */
  #awaitsBody(): boolean {
    const body = this.#body;
    return this.#phase === "working" && body?.isArriving === true && body.isWanted;
  }
}

const nothing = Buffer.alloc(0);
const leftUs = "The other side has left.";
const CR = 0x0d;
const LF = 0x0a;

const copiedBytesMax = 4_096;

const internalError = (requestId: string): Reply => ({
  status: 500,
  headerLines: `x-request-id: ${requestId}\r\ncontent-type: application/json\r\n`,
  body: JSON.stringify({ error: "internal error", code: "internal", request_id: requestId }),
  closes: false,
});
