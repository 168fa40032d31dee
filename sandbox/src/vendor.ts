// What every stand-in is: a function from a call to an answer, with what the vendor would bill for it.

export interface VendorCall {
  readonly method: string;
  /** After the vendor's own prefix: `/rerank`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly body: string;
  readonly nowMs: number;
}

/** Units the vendor would bill, by name: `{ tokens: 12 }`, `{ calls: 1 }`. */
export type Billed = Readonly<Record<string, number>>;

export interface VendorAnswer {
  readonly status: number;
  readonly body: JsonObject;
  /** Null: the vendor bills nothing, as for every error. */
  readonly billed: Billed | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer that comes in events, each made when the one before has been taken. */
export interface VendorStream {
  readonly status: 200;
  readonly headers?: Readonly<Record<string, string>>;
  /** Server-sent events, or one JSON list that grows. */
  readonly framing: "sse" | "json_list";
  /** Before the first event: what reading the prompt costs. */
  readonly billed: Billed;
  readonly events: Iterable<StreamEvent>;
  /** How the vendor says in the middle of a stream that it cannot go on. */
  readonly fail: (message: string) => Pick<StreamEvent, "event" | "data">;
}

export interface StreamEvent {
  readonly event?: string;
  /** A text is sent as it is. */
  readonly data: JsonObject | string;
  /** By the time this event is sent, everything before included. */
  readonly billed: Billed;
  /** There is nothing in it but usage: a vendor that forgets usage does not send it. */
  readonly usageOnly?: true;
}

/**
 * Invariant: the answer depends on the call and on earlier calls alone, never on a clock or on chance.
 * The platform's tokens are the exception: nobody may guess them, and they run out.
 */
export interface Vendor {
  readonly answer: (call: VendorCall) => VendorAnswer | VendorStream | Promise<VendorAnswer>;
  /** An error in the vendor's own shape, which may depend on the path; injected faults speak through it too. */
  readonly refuse: (status: number, message: string, path?: string) => VendorAnswer;
}

export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Vendors read a null as a member that was not sent. */
export const isNothing = (value: unknown): value is null | undefined => value === null || value === undefined;

/** Undefined when the text is not a JSON object. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined without a bearer, so that a vendor can tell a missing key from a wrong one. */
export const bearerOf = (headers: Headers): string | undefined =>
  /^Bearer\s+(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1];
