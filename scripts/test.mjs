// Runs the tests and closes with one line that a program can read: "N passed, N failed[, N skipped]".
// What failed is told again right before it, so that whoever has only the end of the output knows where to look.

import "./require-node.mjs";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import { bunEnv, exitCode, forwardSignals, openBun } from "./bun.mjs";
import { fail, root } from "./install.mjs";

const TEST_TIMEOUT_MS = 60_000;
const SCRATCH_BYTES_MIN = 4 * 2 ** 30;
const FAILURES_SHOWN_MAX = 10;
const FAILURE_LINES_MAX = 40;

/** Most of a test's time is waiting, so the whole suite runs as two halves at once; chosen files run as one. */
async function runTests(args) {
  const bun = await openBun();
  const halves = args.length > 0 ? [args] : halve(testFiles());
  const scratch = mkdtempSync(path.join(scratchParent(), "tollgate-tests-"));
  // One half is shown as it goes and the other when it has ended: lines of two would mean nothing to anybody.
  const run = (files, index) => runBunTest(bun, files, { isShown: index === 0, scratch });
  const runs = await Promise.all(halves.map(run));
  rmSync(scratch, { recursive: true, force: true });
  for (const { held } of runs) process.stderr.write(held);

  const sum = (word) => runs.reduce((total, { totals }) => total + totals[word], 0);
  const nothingRan = runs.some(({ totals }) => totals.passed + totals.failed === 0);
  if (nothingRan) console.error("No test ran.");
  const failedCode = runs.map(({ code }) => code).find((code) => code !== 0);
  process.exitCode = failedCode ?? (nothingRan || sum("failed") > 0 ? 1 : 0);
  const failures = runs.flatMap((run) => run.failures).slice(0, FAILURES_SHOWN_MAX);
  if (failures.length > 0) process.stdout.write(`\nFailed tests:\n${failures.join("\n")}\n`);
  const skipped = sum("skipped") > 0 ? `, ${sum("skipped")} skipped` : "";
  process.stdout.write(`${sum("passed")} passed, ${sum("failed")} failed${skipped}\n`);
}

function runBunTest(bun, args, { isShown, scratch }) {
  const colour = process.stderr.isTTY ? { FORCE_COLOR: "1" } : {};
  const child = spawn(bun, ["test", "--timeout", String(TEST_TIMEOUT_MS), ...args], {
    cwd: root,
    stdio: ["ignore", isShown ? "inherit" : "pipe", "pipe"],
    env: { ...bunEnv, ...colour, TMPDIR: scratch },
  });
  forwardSignals(child);

  // Bun reports on stderr.
  let report = "";
  let held = "";
  const take = (text) => {
    if (isShown) process.stderr.write(text);
    else held += text;
  };
  child.stdout?.setEncoding("utf8").on("data", take);
  child.stderr.setEncoding("utf8").on("data", (text) => {
    take(text);
    report += text;
  });
  return new Promise((resolve) => {
    child.on("error", fail);
    child.on("close", (code, signal) => {
      const text = stripVTControlCharacters(report);
      resolve({ held, code: exitCode(code, signal), totals: readTotals(text), failures: readFailures(text) });
    });
  });
}

/**
 * Tests wait for thousands of commits. What they show does not depend on a disk, so where memory poses as one they use
 * that, and a disk that is slow for a while fails nothing.
 */
function scratchParent() {
  const memory = "/dev/shm";
  if (!existsSync(memory)) return os.tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= SCRATCH_BYTES_MIN ? memory : os.tmpdir();
}

/** Every second file, so that neighbours, which are alike, fall into different halves. */
const halve = (files) => [0, 1].map((half) => files.filter((_, index) => index % 2 === half));

const testFiles = () =>
  ["gateway", "sandbox", "client", "test", "bench", "catalogue"]
    .flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true }).map((file) => `./${folder}/${file}`),
    )
    .filter((file) => file.endsWith(".test.ts") && !file.endsWith(".services.test.ts"))
    .filter((file) => !file.includes("node_modules"))
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

// Bun writes what a test has to say before the line of its result, a note of a time-out after it, and a list at the end.
function readFailures(text) {
  const failures = [];
  let file = "";
  let said = [];
  let isAfterFailure = false;
  for (const line of text.split(/^\d+ tests? failed:$/m, 1)[0].split("\n")) {
    const isFailure = line.startsWith("(fail) ");
    if (isAfterFailure && line.startsWith("  ^ ")) failures[failures.length - 1] += `${line}\n`;
    else if (isFailure) failures.push(`${[file, ...said, line].join("\n")}\n`);
    else if (/^\S+\.test\.ts:$/.test(line)) file = line;
    else said = [...said, line].slice(-FAILURE_LINES_MAX);
    if (isFailure || /^\((pass|skip|todo)\) /.test(line)) said = [];
    isAfterFailure = isFailure;
  }
  return failures;
}

runTests(process.argv.slice(2)).catch(fail);
