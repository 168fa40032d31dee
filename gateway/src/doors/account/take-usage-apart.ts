// Where the money went, taken apart by operation, model and key.

import { seenBy, seesAccount } from "../../keys/seen-by.ts";
import { readUsageByGroup, readUsageByGroupWithin, type UsageByGroup } from "../../usage/usage-by-group.ts";
import type { UsageWindow } from "../../usage/usage-report.ts";
import { keyNames, type KeyName } from "./key-names.ts";
import type { Reader } from "./reader.ts";

/** Some days up to now, and how many calls ended in them. */
export interface Span {
  readonly days: number;
  readonly window: UsageWindow;
  readonly requests: number;
}

export interface CallsApart {
  readonly days: number;
  readonly operations: UsageByGroup;
  readonly models: UsageByGroup;
}

/** Calls looked at for one page, in a few milliseconds; meanwhile nobody else is served. */
export const callsReadMax = 2_500;

/** Operations and models are not summed up as calls end, so calls are read: those of the first span with few enough. */
export async function takeCallsApart(
  { asker, store: { usage } }: Reader,
  spans: readonly Span[],
): Promise<CallsApart | undefined> {
  const scope = seenBy(asker);
  for (const { days, window, requests } of spans) {
    if (requests > callsReadMax) continue;
    const operations = await readUsageByGroupWithin(usage, scope, "operation", window, callsReadMax);
    const models = operations && (await readUsageByGroupWithin(usage, scope, "model", window, callsReadMax));
    if (operations && models) return { days, operations, models };
  }
  return undefined;
}

export interface KeySpent {
  readonly name: KeyName;
  readonly requests: number;
  readonly chargedMicros: number;
}

/** The dearest keys, and how many there are beside them; for whoever sees the whole account. */
export async function takeKeysApart(
  reader: Reader,
  window: UsageWindow,
  shownMax: number,
): Promise<{ readonly shown: readonly KeySpent[]; readonly more: number } | undefined> {
  const { asker, store } = reader;
  if (!seesAccount(asker)) return undefined;
  const { groups } = await readUsageByGroup(store.usage, seenBy(asker), "key", window);
  const dearest = groups.slice(0, shownMax);
  const nameOf = await keyNames(
    reader,
    dearest.map(({ name = "" }) => name),
  );
  const shown = dearest.map(({ name: id = "", requests, charged_micros_usd: chargedMicros }) => ({
    name: nameOf(id),
    requests,
    chargedMicros,
  }));
  return { shown, more: groups.length - shown.length };
}
