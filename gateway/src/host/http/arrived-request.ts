import type { Fault, HttpRequest } from "../../platform/http-request.ts";
import type { RequestBody } from "./request-body.ts";
import type { ArrivedHeaders, RequestHead } from "./request-head.ts";

/** A request with as much of its body as is here. A class, because there is one for every call. */
export class ArrivedRequest implements HttpRequest {
  readonly head: RequestHead;
  readonly arrivedBody: Uint8Array | undefined;
  readonly #arriving: RequestBody | undefined;
  #leaving: AbortController | undefined;

  constructor(head: RequestHead, arrived: Uint8Array | undefined, arriving: RequestBody | undefined) {
    this.head = head;
    this.arrivedBody = arrived;
    this.#arriving = arriving;
  }

  get method(): string {
    return this.head.method;
  }

  get target(): string {
    return this.head.target;
  }

  get headers(): ArrivedHeaders {
    return this.head.headers;
  }

  get fault(): Fault | undefined {
    return this.head.fault;
  }

  get body(): AsyncIterable<Uint8Array> | null {
    return this.#arriving ?? (this.arrivedBody ? piecesOf(this.arrivedBody) : null);
  }

  bytes(): Promise<Uint8Array> {
    return this.#arriving?.whole() ?? Promise.resolve(this.arrivedBody ?? noBytes);
  }

  toRequest(): Request {
    this.#leaving ??= new AbortController();
    const host = this.fault === undefined ? (this.headers.get("host") ?? "localhost") : "localhost";
    const mayHaveBody = this.method !== "GET" && this.method !== "HEAD";
    return new Request(`http://${host}${this.target}`, {
      method: this.method,
      headers: this.headers.toHeaders(),
      body: mayHaveBody ? (this.#arriving ? streamOf(this.#arriving) : (this.arrivedBody ?? null)) : null,
      signal: this.#leaving.signal,
    });
  }

  /** Whoever works on it in the web's own form hears that nobody waits for it any more. */
  leave(): void {
    this.#leaving?.abort();
  }
}

const noBytes = new Uint8Array();

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Nothing is asked for before somebody reads: a client may be waiting to be told that its body is wanted. */
function streamOf(body: RequestBody): ReadableStream<Uint8Array> {
  const pieces = body[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const next: IteratorResult<Uint8Array, undefined> = await pieces.next();
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
    },
    { highWaterMark: 0 },
  );
}
