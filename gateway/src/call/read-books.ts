import type { Call } from "./call.ts";
import type { Gate } from "./gate.ts";
import { refuseUnbooked, whyUnread } from "./refusals/refuse-unbooked.ts";

/** What the books say. Refuses where they cannot be read; in that case nothing was done. */
export async function readBooks<Value>(
  reading: Promise<Value>,
  call: Pick<Call, "id">,
  gate: Pick<Gate, "storeNews">,
): Promise<Value> {
  try {
    return await reading;
  } catch (error) {
    const why = whyUnread(error);
    if (!why) throw error;
    return refuseUnbooked(error, call, why, gate);
  }
}
