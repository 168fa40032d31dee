import type { JsonObject } from "../../../platform/json.ts";
import type { SseEvent } from "../dialect.ts";

/** Anthropic says the type twice: as the event's name and in its data. */
export const sse = (type: string, members: JsonObject): SseEvent => ({
  event: type,
  data: JSON.stringify({ type, ...members }),
});
