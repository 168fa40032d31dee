// Server-sent events as vendors write them.

import type { StreamEvent } from "./scripted-answer.ts";
import type { JsonObject } from "./vendor-checks.ts";

export const dataEvent = (data: JsonObject): string => `data: ${JSON.stringify(data)}\n\n`;

/** An event whose name is also its `type`. */
export const typedEvent = (data: JsonObject & { readonly type: string }): string =>
  `event: ${data.type}\n${dataEvent(data)}`;

export const heartbeat = ": keep-alive\n\n";

export const sseHeaders = { "Content-Type": "text/event-stream; charset=utf-8" } as const;

/** An event and how many tokens of the output it brings. */
export interface WeighedEvent extends Omit<StreamEvent, "share"> {
  readonly tokens?: number;
}

/** An answer without any output is all out at once. */
export function withShares(events: readonly WeighedEvent[]): readonly StreamEvent[] {
  const total = events.reduce((sum, { tokens = 0 }) => sum + tokens, 0);
  let sent = 0;
  return events.map(({ tokens = 0, ...event }) => ({
    ...event,
    share: total === 0 ? 1 : (sent += tokens) / total,
  }));
}
