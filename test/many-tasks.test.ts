import { expect, test } from "bun:test";
import { join } from "node:path";
import { projectFolder } from "./harness.ts";

// The short form of `npm run bench:tasks`.
test("many open tasks are asked about within the vendor's quota, in turn, with flat memory", async () => {
  const child = Bun.spawn([process.execPath, join(projectFolder, "bench/tasks.ts")], {
    env: { ...process.env, TASKS: "400", POLL_QPS: "100", SECONDS: "5" },
    stdout: "pipe",
    stderr: "inherit",
  });
  const report = JSON.parse(await new Response(child.stdout).text()) as Record<string, number>;
  expect(report["most_polls_of_a_task"]).toBeLessThanOrEqual((report["fewest_polls_of_a_task"] ?? -9) + 1);
  expect(report["polls_per_second"]).toBeLessThanOrEqual(100);
  expect(report["polls_per_second"]).toBeGreaterThan(20);
  expect(report["rss_mb_growth"]).toBeLessThan(64);
  expect(report["audit_findings"]).toBe(0);
}, 60_000);
