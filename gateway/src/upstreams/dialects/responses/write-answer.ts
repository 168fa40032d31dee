import type { JsonObject } from "../../../platform/json.ts";
import { eventsOf } from "../answer-events.ts";
import type { ChatAnswer } from "../chat.ts";
import type { WriteContext } from "../dialect.ts";
import { ResponseWriter } from "./response-writer.ts";

/** A whole answer is what its stream would have ended with. */
export function writeAnswer(answer: ChatAnswer, context: WriteContext): JsonObject {
  const writer = new ResponseWriter(context);
  for (const event of eventsOf(answer)) writer.write(event);
  return writer.response;
}
