// Runs the tests and closes with one line that a program can read: "N passed, N failed[, N skipped]".

import "./require-node.mjs";
import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { bunEnv, exitCode, forwardSignals, openBun } from "./bun.mjs";
import { fail, root } from "./install.mjs";

const TEST_TIMEOUT_MS = 60_000;
const TAIL_CHARS_MAX = 10_000;

async function runTests(args) {
  const bun = await openBun();
  const colour = process.stderr.isTTY ? { FORCE_COLOR: "1" } : {};
  const child = spawn(bun, ["test", "--timeout", String(TEST_TIMEOUT_MS), ...args], {
    cwd: root,
    stdio: ["ignore", "inherit", "pipe"],
    env: { ...bunEnv, ...colour },
  });
  forwardSignals(child);

  // Bun reports on stderr, its totals last, so the tail is enough.
  let tail = "";
  child.stderr.setEncoding("utf8");
  child.stderr.on("data", (text) => {
    process.stderr.write(text);
    tail = (tail + text).slice(-TAIL_CHARS_MAX);
  });

  child.on("error", fail);
  child.on("close", (code, signal) => {
    const totals = readTotals(stripVTControlCharacters(tail));
    const nothingRan = totals.passed + totals.failed === 0;
    if (nothingRan) console.error("No test ran.");

    process.exitCode = exitCode(code, signal) || (nothingRan || totals.failed > 0 ? 1 : 0);
    const skipped = totals.skipped > 0 ? `, ${totals.skipped} skipped` : "";
    process.stdout.write(`${totals.passed} passed, ${totals.failed} failed${skipped}\n`);
  });
}

// The block of totals ends at "Ran N tests"; a test that prints such a line itself comes before it.
function readTotals(text) {
  const block = text.slice(0, Math.max(0, text.lastIndexOf("\nRan ")));
  const last = (word) => {
    const found = [...block.matchAll(new RegExp(`^ *(\\d+) ${word}$`, "gm"))].pop();
    return found === undefined ? 0 : Number(found[1]);
  };
  return { passed: last("pass"), failed: last("fail"), skipped: last("skip") + last("todo") };
}

runTests(process.argv.slice(2)).catch(fail);
