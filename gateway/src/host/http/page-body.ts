import { isEventStream } from "../../platform/event-stream.ts";
import type { PacedBody } from "../../platform/paced-body.ts";

/** The body of a page: read whole, so that its length can be told, unless it is a stream of events. */
export function readPage(response: Response): PacedBody | Promise<Uint8Array> {
  const isStream = isEventStream(response.headers.get("content-type") ?? undefined);
  return response.body && isStream ? new EventsBody(response.body.getReader()) : response.bytes();
}

type Events = Pick<ReadableStreamDefaultReader<Uint8Array | string>, "read" | "cancel">;

class EventsBody implements PacedBody {
  readonly #events: Events;

  constructor(events: Events) {
    this.#events = events;
  }

  readonly write: PacedBody["write"] = async (reader) => {
    // Sends the head at once, so that a listener knows it is connected, however long no event comes.
    await reader.send("");
    for (let next = await this.#events.read(); !next.done; next = await this.#events.read()) {
      await reader.send(next.value);
    }
  };

  readonly cancel = (): void => {
    this.#events.cancel().catch(() => {});
  };
}
