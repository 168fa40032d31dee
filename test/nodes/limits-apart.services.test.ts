// Nodes on one Postgres that were not given a Redis.

import { expect, test } from "bun:test";
import { until } from "../support/until.ts";
import { openRealNodes } from "../support/real-nodes.ts";
import { openTestDatabase } from "../services/postgres.ts";

test("a node on Postgres that counts limits by itself says at its start that several multiply them", async () => {
  const database = await openTestDatabase();
  const nodes = await openRealNodes({ postgresUrl: database.url, redisUrl: "memory:" });
  try {
    const node = await nodes.start();
    await until(() => node.stderr().includes('"event":"serving"'));
    expect(node.stderr()).toContain("set TOLLGATE_LIMITS to one Redis for all of them");
  } finally {
    await nodes.close();
    await database.drop();
  }
});
