// Runs the tests and closes with one line that a program can read: "N passed, N failed[, N skipped]".

import "./require-node.mjs";
import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import { bunEnv, exitCode, forwardSignals, openBun } from "./bun.mjs";
import { fail, root } from "./install.mjs";

const TEST_TIMEOUT_MS = 60_000;
const TAIL_CHARS_MAX = 10_000;

/** Most of a test's time is waiting, so the whole suite runs as two halves at once; chosen files run as one. */
async function runTests(args) {
  const bun = await openBun();
  const halves = args.length > 0 ? [args] : halve(testFiles());
  // One half is shown as it goes and the other when it has ended: lines of two would mean nothing to anybody.
  const runs = await Promise.all(halves.map((files, index) => runBunTest(bun, files, index === 0)));
  for (const { held } of runs) process.stderr.write(held);

  const sum = (word) => runs.reduce((total, { totals }) => total + totals[word], 0);
  const nothingRan = runs.some(({ totals }) => totals.passed + totals.failed === 0);
  if (nothingRan) console.error("No test ran.");
  const failedCode = runs.map(({ code }) => code).find((code) => code !== 0);
  process.exitCode = failedCode ?? (nothingRan || sum("failed") > 0 ? 1 : 0);
  const skipped = sum("skipped") > 0 ? `, ${sum("skipped")} skipped` : "";
  process.stdout.write(`${sum("passed")} passed, ${sum("failed")} failed${skipped}\n`);
}

function runBunTest(bun, args, isShown) {
  const colour = process.stderr.isTTY ? { FORCE_COLOR: "1" } : {};
  const child = spawn(bun, ["test", "--timeout", String(TEST_TIMEOUT_MS), ...args], {
    cwd: root,
    stdio: ["ignore", isShown ? "inherit" : "pipe", "pipe"],
    env: { ...bunEnv, ...colour },
  });
  forwardSignals(child);

  // Bun reports on stderr, its totals last, so the tail is enough.
  let tail = "";
  let held = "";
  const take = (text) => {
    if (isShown) process.stderr.write(text);
    else held += text;
  };
  child.stdout?.setEncoding("utf8").on("data", take);
  child.stderr.setEncoding("utf8").on("data", (text) => {
    take(text);
    tail = (tail + text).slice(-TAIL_CHARS_MAX);
  });
  return new Promise((resolve) => {
    child.on("error", fail);
    child.on("close", (code, signal) => {
      resolve({ held, code: exitCode(code, signal), totals: readTotals(stripVTControlCharacters(tail)) });
    });
  });
}

/** Every second file, so that neighbours, which are alike, fall into different halves. */
const halve = (files) => [0, 1].map((half) => files.filter((_, index) => index % 2 === half));

const testFiles = () =>
  ["gateway", "sandbox", "client", "test", "bench", "catalogue"]
    .flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true }).map((file) => `./${folder}/${file}`),
    )
    .filter((file) => file.endsWith(".test.ts") && !file.includes("node_modules"))
    .toSorted((a, b) => (a < b ? -1 : 1));

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
