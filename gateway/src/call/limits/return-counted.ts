import { seenAt, tighter, type SeenStanding } from "../../limits/call-limits.ts";
import type { Call } from "../call.ts";
import type { Gate } from "../gate.ts";

/** Returns what the call counted against limits so far, and sees how they stand then. */
export async function returnCounted({ known }: Pick<Call, "known">, gate: Gate): Promise<void> {
  const { counted } = known;
  known.counted = [];
  let requests: SeenStanding | undefined;
  for (const { wants, takenAt } of counted) {
    await gate.limiter.giveBack(wants, takenAt);
    for (const want of wants) {
      requests = tighter(requests, seenAt(gate.clock.wallMs(), await gate.limiter.look(want)));
    }
  }
  if (requests) known.requests = requests;
}
