import type { EventWriter, SseEvent, WriteContext } from "../dialect.ts";
import type { Step } from "./open-items.ts";
import { ResponseWriter } from "./response-writer.ts";

export function createEventWriter(context: WriteContext): EventWriter {
  const writer = new ResponseWriter(context);
  let number = 0;
  const say = ([type, members]: Step): SseEvent => ({
    event: type,
    data: JSON.stringify({ type, sequence_number: number++, ...members }),
  });
  return {
    write: (event) => writer.write(event).map(say),
    end: () => writer.end().map(say),
  };
}
