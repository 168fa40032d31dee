import { isEventStream } from "../../platform/event-stream.ts";
import type { PacedBody } from "../../platform/paced-body.ts";

/** The body of a page: all of it, so that its length can be told, unless it is one of events, which come as they happen. */
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
    // Whoever listens for events hears that it is heard, however long nothing happens.
    await reader.send("");
    for (let next = await this.#events.read(); !next.done; next = await this.#events.read()) {
      await reader.send(next.value);
    }
  };

  readonly cancel = (): void => {
    this.#events.cancel().catch(() => {});
  };
}
