// How a fault bends what an answer says, in JSON and in the events of a stream.

import type { Fault } from "./faults.ts";
import { isObject, type JsonObject, type StreamEvent } from "./vendor.ts";

/** RFC 7396: objects merge member by member, null deletes, anything else replaces. */
export function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [member, value] of Object.entries(patch)) {
    if (value === null) delete merged[member];
    else merged[member] = merge(merged[member], value);
  }
  return merged;
}

// What the vendors call it.
const usageNames = ["usage", "usageMetadata", "costDollars"] as const;

export const withoutUsage = (body: unknown): unknown =>
  isObject(body) ? Object.fromEntries(Object.entries(body).filter(([name]) => !isUsage(name))) : body;

/** Undefined: this event is not sent at all. */
export function bendEvent(
  { data, usageOnly }: Pick<StreamEvent, "data" | "usageOnly">,
  { mode, json_patch = {} }: Fault,
): JsonObject | string | undefined {
  if (mode === "no_usage" && usageOnly === true) return undefined;
  if (!isObject(data)) return data;

  const bend = (holder: JsonObject): JsonObject => {
    if (mode === "no_usage") return objectOf(withoutUsage(holder));
    const known = Object.entries(json_patch).filter(([name]) => name in holder);
    return hasUsage(holder) ? objectOf(merge(holder, Object.fromEntries(known))) : holder;
  };
  // Some vendors put the whole answer so far into an event of its own.
  const inner = ["message", "response"].flatMap((name) =>
    isObject(data[name]) ? [[name, bend(data[name])] as const] : [],
  );
  return { ...bend(data), ...Object.fromEntries(inner) };
}

const isUsage = (name: string): boolean => usageNames.some((usage) => usage === name);

const hasUsage = (holder: JsonObject): boolean => usageNames.some((name) => isObject(holder[name]));

const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});
