import { openRedisConnection } from "./redis-connection.ts";

/** Throws why limits cannot be counted there. Nothing is written, so no node counts whoever only looks. */
export async function lookAtRedis(url: string, monotonicMs: () => number): Promise<void> {
  const connection = await openRedisConnection({ url, monotonicMs, onLost: () => {} });
  connection.close();
}
