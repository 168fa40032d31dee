import { isDeepStrictEqual } from "node:util";
import { isJsonObject } from "../../../platform/json.ts";
import { protocolError } from "../protocol-error.ts";
import { shareStream, type SharedStream } from "./shared-stream.ts";

/**
 * The requests of a session that have no answer yet, also those whose client has lost its connection. The protocol's
 * library knows one stream for each id: a request that is repeated while it runs never comes to it, and is given the
 * first one's answer.
 */
export interface RunningRequests {
  readonly count: () => number;
  /** Answers a message with `handle`, or with the answer of the same request where that runs already. */
  readonly answer: (message: unknown, handle: () => Promise<Response>) => Promise<Response>;
}

type RequestId = string | number;

/** Called when a request begins; returns what is called when it has ended. */
type OnBegun = (id: RequestId, message: unknown) => () => void;

interface Running {
  readonly message: unknown;
  /** Undefined when it was refused before it ran. */
  readonly begun: Promise<SharedStream | undefined>;
}

export function createRunningRequests(onBegun: OnBegun): RunningRequests {
  const running = new Map<RequestId, Running>();

  const begin = async (
    id: RequestId,
    message: unknown,
    handle: () => Promise<Response>,
  ): Promise<Response> => {
    const { promise: begun, resolve } = Promise.withResolvers<SharedStream | undefined>();
    running.set(id, { message, begun });
    const onEnded = onBegun(id, message);
    const end = (): void => {
      running.delete(id);
      onEnded();
    };
    let shared: SharedStream | undefined;
    try {
      const response = await handle();
      const stream = streamIn(response);
      if (!stream) return response;
      shared = shareStream(response, stream, end);
      return shared.open();
    } finally {
      if (!shared) end();
      resolve(shared);
    }
  };

  const answer: RunningRequests["answer"] = async (message, handle) => {
    const id = requestIdOf(message);
    if (id === undefined) return handle();
    const earlier = running.get(id);
    if (!earlier) return begin(id, message, handle);
    if (!isDeepStrictEqual(earlier.message, message)) return takenId();
    const shared = await earlier.begun;
    return shared ? shared.open() : answer(message, handle);
  };

  return { count: () => running.size, answer };
}

function requestIdOf(message: unknown): RequestId | undefined {
  if (!isJsonObject(message) || typeof message["method"] !== "string") return undefined;
  const { id } = message;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

const streamIn = ({ headers, body }: Response): ReadableStream<Uint8Array> | null =>
  headers.get("content-type")?.startsWith("text/event-stream") === true ? body : null;

const takenId = (): Response =>
  protocolError(400, -32600, "Invalid Request: another request with this id is still running");
