// Nodes on one Postgres that were not given a Redis, or whose Redis does not answer.

import { expect, test } from "bun:test";
import { until } from "../support/until.ts";
import { openRealNodes, type RealNodes } from "../support/real-nodes.ts";
import { openTestDatabase } from "../services/postgres.ts";
import { startPrivateRedis } from "../services/redis.ts";

async function withNodes(redisUrl: string, run: (nodes: RealNodes) => Promise<void>): Promise<void> {
  const database = await openTestDatabase();
  const nodes = await openRealNodes({ postgresUrl: database.url, redisUrl });
  try {
    await run(nodes);
  } finally {
    await nodes.close();
    await database.drop();
  }
}

test("a node on Postgres that counts limits by itself says at its start that several multiply them", () =>
  withNodes("memory:", async (nodes) => {
    const node = await nodes.start();
    await until(() => node.stderr().includes('"event":"serving"'));
    expect(node.stderr()).toContain("set TOLLGATE_LIMITS to one Redis for all of them");
  }));

test("nodes that start while Redis is silent let through one limit together", async () => {
  const redis = await startPrivateRedis();
  try {
    redis.freeze();
    await withNodes(redis.url, async (nodes) => {
      const three = await Promise.all([nodes.start(), nodes.start(), nodes.start()]);
      await until(() => three.every((node) => node.stderr().includes('"nodes":3')));
      const account = await nodes.openAccount("0", "free");
      const served = await Promise.all(
        three.map(async (node) => {
          let count = 0;
          for (let call = 0; call < 40; call++)
            if ((await node.call(account, "/v1/credits/balance")).status === 200) count++;
          return count;
        }),
      );
      expect(served).toEqual([20, 20, 20]);
    });
  } finally {
    await redis.close();
  }
});
