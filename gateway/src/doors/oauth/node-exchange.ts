// The authorization server is an application of node:http. This lets it answer a fetch request in the same
// process, without a listener of its own that anybody on the machine could reach around our checks.

import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable, Writable } from "node:stream";

export type NodeApp = (request: IncomingMessage, response: ServerResponse) => Promise<unknown>;

export interface NodeRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly encrypted: boolean;
  readonly address: string | undefined;
}

/** The two halves of a request, for functions of the server that only look at its cookies. */
export interface NodePair {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export function nodePair(request: Request, host: string): NodePair {
  const cookie = request.headers.get("cookie") ?? "";
  const asked = { method: "GET", target: "/", headers: { host, cookie }, body: new Uint8Array() };
  return pairOf(
    new AskedRequest({ ...asked, encrypted: false, address: undefined }),
    new CollectedResponse(() => {}),
  );
}

/** Both have every member that Koa and the authorization server touch; the rest of node:http is not needed. */
const pairOf = (request: AskedRequest, response: CollectedResponse): NodePair => ({
  request: request as unknown as IncomingMessage,
  response: response as unknown as ServerResponse,
});

export function askNodeApp(app: NodeApp, asked: NodeRequest): Promise<Response> {
  return new Promise((resolve, reject) => {
    const { request, response } = pairOf(new AskedRequest(asked), new CollectedResponse(resolve));
    app(request, response).catch(reject);
  });
}

class AskedRequest extends Readable {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly httpVersion = "1.1";
  readonly httpVersionMajor = 1;
  readonly complete = true;
  readonly socket: object;
  readonly connection: object;
  readonly #body: Uint8Array;

  constructor(asked: NodeRequest) {
    super();
    this.method = asked.method;
    this.url = asked.target;
    this.headers = asked.headers;
    this.socket = {
      encrypted: asked.encrypted,
      remoteAddress: asked.address,
      writable: true,
      readable: true,
    };
    this.connection = this.socket;
    this.#body = asked.body;
  }

  override _read(): void {
    if (this.#body.length > 0) this.push(Buffer.from(this.#body));
    this.push(null);
  }
}

class CollectedResponse extends Writable {
  statusCode = 200;
  statusMessage = "";
  headersSent = false;
  finished = false;
  readonly #headers = new Map<string, string | readonly string[]>();
  readonly #chunks: Buffer[] = [];
  readonly #done: (response: Response) => void;

  constructor(done: (response: Response) => void) {
    super();
    this.#done = done;
  }

  setHeader(name: string, value: string | number | readonly string[]): this {
    this.#headers.set(name.toLowerCase(), typeof value === "number" ? String(value) : value);
    return this;
  }

  getHeader(name: string): string | readonly string[] | undefined {
    return this.#headers.get(name.toLowerCase());
  }

  getHeaders(): Record<string, string | readonly string[]> {
    return Object.fromEntries(this.#headers);
  }

  getHeaderNames(): string[] {
    return [...this.#headers.keys()];
  }

  hasHeader(name: string): boolean {
    return this.#headers.has(name.toLowerCase());
  }

  removeHeader(name: string): void {
    this.#headers.delete(name.toLowerCase());
  }

  flushHeaders(): void {
    this.headersSent = true;
  }

  override _write(chunk: Buffer | string, _encoding: BufferEncoding, written: () => void): void {
    this.headersSent = true;
    this.#chunks.push(Buffer.from(chunk));
    written();
  }

  override _final(ended: () => void): void {
    this.headersSent = true;
    this.finished = true;
    this.#done(this.#response());
    ended();
  }

  #response(): Response {
    const headers = new Headers();
    for (const [name, value] of this.#headers) {
      if (name === "content-length" || name === "transfer-encoding" || name === "connection") continue;
      for (const one of typeof value === "string" ? [value] : value) headers.append(name, one);
    }
    const body = Buffer.concat(this.#chunks);
    return new Response(body.length === 0 ? null : new Uint8Array(body), {
      status: this.statusCode,
      headers,
    });
  }
}
