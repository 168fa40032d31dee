import { isJsonObject } from "../../platform/json.ts";
import { shareAnswer } from "./shared-answer.ts";

/** The requests of a session that have no answer yet, also those whose client has lost its connection. */
export interface RunningRequests {
  readonly count: () => number;
  readonly answer: (message: unknown, handle: () => Promise<Response>) => Promise<Response>;
}

export function createRunningRequests(onEnded: () => void): RunningRequests {
  let running = 0;

  const begin = async (handle: () => Promise<Response>): Promise<Response> => {
    running++;
    const end = (): void => {
      running--;
      onEnded();
    };
    let isRunning = false;
    try {
      const response = await handle();
      const stream = streamIn(response);
      if (!stream) return response;
      isRunning = true;
      return shareAnswer(response, stream, end).open();
    } finally {
      if (!isRunning) end();
    }
  };

  return {
    count: () => running,
    answer: (message, handle) => (isRequest(message) ? begin(handle) : handle()),
  };
}

const isRequest = (message: unknown): boolean =>
  isJsonObject(message) && typeof message["method"] === "string" && message["id"] !== undefined;

const streamIn = ({ headers, body }: Response): ReadableStream<Uint8Array> | null =>
  headers.get("content-type")?.startsWith("text/event-stream") === true ? body : null;
