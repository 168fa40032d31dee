// Ten thousand open tasks at one vendor: polls a second against its quota, how evenly tasks get their turns, memory.
//
//   node scripts/bench-tasks.mjs [tasks, default 10000] [poll_qps, default 500] [seconds, default 60]

import "./require-node.mjs";
import { spawnSync } from "node:child_process";
import { bunEnv, openBun } from "./bun.mjs";
import { root } from "./install.mjs";

const [tasks = "10000", pollQps = "500", seconds = "60"] = process.argv.slice(2);
const bun = await openBun();
const env = { ...bunEnv, TASKS: tasks, POLL_QPS: pollQps, SECONDS: seconds };
const ran = spawnSync(bun, ["bench/tasks.ts"], { cwd: root, env, encoding: "utf8" });
if (ran.status !== 0) throw new Error(ran.stderr);
const report = JSON.parse(ran.stdout);
for (const [name, value] of Object.entries(report)) console.log(`${name.padEnd(24)} ${value}`);

const fair = report.most_polls_of_a_task - report.fewest_polls_of_a_task <= 1;
const used = report.polls_per_second >= 0.5 * report.poll_qps;
console.log(
  fair ? "No task was asked about twice before every task was asked about once." : "The turns were unfair.",
);
if (!fair || !used || report.rss_mb_growth > 64 || report.audit_findings > 0) process.exitCode = 1;
