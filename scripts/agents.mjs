// Installs the clients that agents use (test/agents/clients) and runs them and the conformance suite against the gateway.

import "./launch/require-node.mjs";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { outsideNpm } from "./launch/outside-npm.mjs";
import { root } from "./launch/root.mjs";
import { fail, SetupError } from "./launch/setup-error.mjs";

const folder = path.join(root, "test/agents/clients");
const stamp = path.join(folder, "node_modules/.tollgate-installed");

function install() {
  const wanted = createHash("sha256")
    .update(readFileSync(path.join(folder, "package-lock.json")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  console.error("Installing the clients of agents…");
  // No package here needs to run anything while it is installed. Not `npm ci`: it wants every platform's optional
  // packages in the lock, also those that a registry does not have.
  const { status } = spawnSync(
    "npm",
    ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"],
    {
      cwd: folder,
      env: outsideNpm(process.env),
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  if (status !== 0)
    throw new SetupError(`Installing test/agents/clients failed (npm install, exit ${status}).`);
  writeFileSync(stamp, wanted);
}

try {
  install();
  const tests = path.join(root, "scripts/test.mjs");
  const { status } = spawnSync(
    process.execPath,
    [tests, "./test/agents/agents.ts", ...process.argv.slice(2)],
    { cwd: root, stdio: "inherit" },
  );
  process.exitCode = status ?? 1;
} catch (error) {
  fail(error);
}
