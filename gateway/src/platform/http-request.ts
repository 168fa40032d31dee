/** The headers of a request. One that came several times has all its values in one text, with commas between them. */
export interface HttpHeaders {
  get(name: string): string | null;
  has(name: string): boolean;
}

/** A body that comes with a request, whoever received it. */
export interface SentBody {
  readonly headers: HttpHeaders;
  /** All of it, where it is here already. */
  readonly arrivedBody?: Uint8Array | undefined;
  readonly body: AsyncIterable<Uint8Array> | ReadableStream<Uint8Array> | null;
  bytes(): Promise<Uint8Array>;
}

/** What is wrong with the HTTP of a request. */
export interface Fault {
  readonly code: "invalid_parameters" | "headers_too_large";
  readonly message: string;
}

/** A request as the listener hands it over: what calls need of it, and no more, because there is one for each of them. */
export interface HttpRequest extends SentBody {
  readonly method: string;
  /** Its path and query, in one spelling. */
  readonly target: string;
  readonly headers: HttpHeaders & { areMoreThan(count: number): boolean };
  /** Why it is refused whoever sent it: what comes after it cannot be trusted. */
  readonly fault: Fault | undefined;
  /** The same in the web's own form, for pages and for libraries. */
  toRequest(): Request;
}

export const isGetOrHead = ({ method }: { readonly method: string }): boolean =>
  method === "GET" || method === "HEAD";

/** The target of a request in its two parts. The query is as it came, without the question mark. */
export interface SplitTarget {
  readonly path: string;
  readonly rawQuery: string;
}

export function splitTarget(target: string): SplitTarget {
  const question = target.indexOf("?");
  if (question === -1) return { path: target, rawQuery: "" };
  return { path: target.slice(0, question), rawQuery: target.slice(question + 1) };
}

/**
 * How much of a body that is not read is let pass. More than any client sends by mistake; seconds of a fast line, and no
 * memory: what nobody reads is thrown away.
 */
export const passedBytesMax = 256 * 1024 * 1024;
