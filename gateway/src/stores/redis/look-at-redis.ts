import { asTakenAt } from "../../limits/taken-at.ts";
import type { Want } from "../../limits/limiter.ts";
import { openRedisConnection } from "./redis-connection.ts";
import { createRedisLimiter } from "./redis-limiter.ts";

interface Parts {
  readonly url: string;
  readonly monotonicMs: () => number;
  readonly newId: () => string;
}

/** Whoever looks has more time than a call; a Redis that is slow can be used, if only now and then. */
const answerWithinMs = 1_000;

/**
 * Throws why limits cannot be counted there. A Redis that answers may still take no writes, or run no scripts for this
 * user, so whatever a node asks of it is asked: among keys of this look alone, where no node counts it, and nothing stays.
 */
export async function lookAtRedis({ url, monotonicMs, newId }: Parts): Promise<void> {
  const connection = await openRedisConnection({ url, monotonicMs, answerWithinMs, onLost: () => {} });
  const id = newId();
  const limiter = createRedisLimiter({ connection, name: `${id}:1`, prefix: `tollgate:look:${id}:` });
  try {
    await limiter.come();
    await limiter.join();
    const take = await limiter.take([rate, slot]);
    await limiter.look(slot);
    const takenAt = take.kind === "taken" ? take.takenAt : asTakenAt(0);
    await limiter.bringBack([
      { kind: "rate", name: rate.name, by: -1, takenAt },
      { kind: "slot", name: slot.name, holder: slot.holder },
    ]);
    await limiter.leave();
  } finally {
    connection.close();
  }
}

const rate = { kind: "rate", of: "requests", name: "r", amount: 1, limit: 1 } as const satisfies Want;
const slot = { kind: "slot", name: "s", holder: "h", limit: 1, leaseMs: 60_000 } as const satisfies Want;
