import { expect, test } from "bun:test";
import { watchTasks } from "./tasks.ts";

test("many open tasks are asked about within the vendor's quota, in turn, with flat memory", async () => {
  const watched = await watchTasks({ tasks: 150, quotaPerSecond: 100, seconds: 3 });
  expect(watched.mostOfATask).toBeLessThanOrEqual(watched.fewestOfATask + 1);
  expect(watched.questionsPerSecond).toBeLessThanOrEqual(100);
  expect(watched.questionsPerSecond).toBeGreaterThan(20);
  expect(watched.endMegabytes - watched.halfwayMegabytes).toBeLessThan(64);
  expect(watched.auditFindings).toBe(0);
}, 60_000);
