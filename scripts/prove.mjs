// The long proof about money: 10,000 random histories of the ledger against a model that fits on a page, then
// every planted bug, each of which the tests must notice.
//
//   npm run prove            or, with another number of histories:  npm run prove -- 500

import "./launch/require-node.mjs";
import { spawnSync } from "node:child_process";
import { bunEnv, openBun } from "./launch/bun.mjs";
import { root } from "./launch/root.mjs";

const runs = process.argv[2] ?? "10000";
const bun = await openBun();
const steps = [
  {
    program: bun,
    args: ["test", "--timeout", "3600000", "gateway/src/stores/sqlite/sqlite-ledger.test.ts", "-t", "model"],
    env: { ...bunEnv, TOLLGATE_PROPERTY_RUNS: runs },
  },
  { program: process.execPath, args: ["scripts/mutants.mjs"], env: bunEnv },
];
for (const { program, args, env } of steps) {
  const { status } = spawnSync(program, args, { cwd: root, env, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
