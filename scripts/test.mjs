// Runs the tests and closes with one line that a program can read: "N passed, N failed[, N skipped]".
// What failed is told again right before it, so that whoever has only the end of the output knows where to look. Files with
// a test that failed while the machine itself was kept from running run again, which is told too; chosen ones do not.

import "./launch/require-node.mjs";
import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { bunEnv, exitCode, openBun } from "./launch/bun.mjs";
import { root } from "./launch/root.mjs";
import { fail } from "./launch/setup-error.mjs";
import { readFailures, readTotals } from "./testing/bun-report.mjs";
import { portionsFor } from "./testing/portions.mjs";
import { makeScratch, removeScratch } from "./testing/scratch.mjs";
import { watchMachine } from "./testing/watch-machine.mjs";

const testTimeoutMs = 60_000;
const failuresShownMax = 10;
/** A machine that is kept from running fails a test or two; more have another reason. */
const runAgainFailuresMax = 3;
const runsMax = 3;
/** Most of a test's time is waiting, so four are under way at a time, also on two cores. */
const portionsAtOnce = 4;

/** Portions run side by side: whoever is free takes the next. */
async function runTests(args) {
  const bun = await openBun();
  const portions = portionsFor(args);
  const scratch = await makeScratch();
  const running = new Set();
  stopWith(() => {
    portions.length = 0;
    return running;
  });
  const runs = [];
  const isAlone = portions.length === 1;
  const whatHappenedSince = watchMachine();
  const takePortions = async (lane) => {
    for (let files = portions.shift(); files !== undefined; files = portions.shift()) {
      const runFiles = (named) => runBunTest(bun, named, { isShown: isAlone, scratch, running, lane });
      const run = isAlone ? await runFiles(files) : await runUndisturbed(files, runFiles, whatHappenedSince);
      // Only when it has ended: nobody could read the lines of two runs mixed up.
      process.stderr.write(run.held);
      // A process that was killed, or broke down between two tests, names none of them.
      if (run.code !== 0 && run.failures.length === 0)
        console.error(`Ended with code ${run.code}, and no test failed: ${files.join(" ")}`);
      runs.push(run);
    }
  };
  await Promise.all(Array.from({ length: portionsAtOnce }, (_, lane) => takePortions(lane)));
  await removeScratch(scratch);
  tell(runs);
}

/** The failures, the closing line and the exit code. */
function tell(runs) {
  const sum = (word) => runs.reduce((total, { totals }) => total + totals[word], 0);
  const nothingRan = runs.some(({ totals }) => totals.passed + totals.failed === 0);
  if (nothingRan) console.error("No test ran.");
  const failedCode = runs.map(({ code }) => code).find((code) => code !== 0);
  process.exitCode = failedCode ?? (nothingRan || sum("failed") > 0 ? 1 : 0);
  const failures = runs.flatMap((run) => run.failures.map(({ text }) => text)).slice(0, failuresShownMax);
  if (failures.length > 0) process.stdout.write(`\nFailed tests:\n${failures.join("\n")}\n`);
  const skipped = sum("skipped") > 0 ? `, ${sum("skipped")} skipped` : "";
  process.stdout.write(`${sum("passed")} passed, ${sum("failed")} failed${skipped}\n`);
}

/** Runs those files again in which tests failed, as long as the machine may be to blame. */
async function runUndisturbed(files, runFiles, whatHappenedSince) {
  let sinceMs = performance.now();
  const whole = await runFiles(files);
  let last = whole;
  let { held } = whole;
  for (let runs = 1; runs < runsMax && last.failures.length > 0; runs++) {
    const happened = whatHappenedSince(sinceMs);
    if (happened === undefined || last.failures.length > runAgainFailuresMax) break;
    held += `\nFailed while ${happened}, and runs again: ${last.failures.map(({ name }) => name).join("; ")}\n`;
    sinceMs = performance.now();
    last = await runFiles([...new Set(last.failures.map(({ file }) => file))]);
    held += last.held;
  }
  const { code, failures } = last;
  const mended = whole.failures.length - failures.length;
  const { passed, failed, skipped } = whole.totals;
  return { held, code, failures, totals: { passed: passed + mended, failed: failed - mended, skipped } };
}

/** Whoever is told to stop begins nothing more, and tells those that run. */
function stopWith(endAll) {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
    process.on(signal, () => {
      for (const child of endAll()) child.kill(signal);
    });
}

function runBunTest(bun, args, { isShown, scratch, running, lane }) {
  const colour = process.stderr.isTTY ? { FORCE_COLOR: "1" } : {};
  const child = spawn(bun, ["test", "--timeout", String(testTimeoutMs), ...args], {
    cwd: root,
    stdio: ["ignore", isShown ? "inherit" : "pipe", "pipe"],
    // Those under way at the same time are told apart, where they share a server.
    env: { ...bunEnv, ...colour, TMPDIR: scratch, TOLLGATE_TEST_LANE: String(lane) },
  });
  running.add(child);

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
      running.delete(child);
      const text = stripVTControlCharacters(report);
      resolve({ held, code: exitCode(code, signal), totals: readTotals(text), failures: readFailures(text) });
    });
  });
}

runTests(process.argv.slice(2)).catch(fail);
