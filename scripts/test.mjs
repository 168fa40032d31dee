// Runs the tests and closes with one line that a program can read: "N passed, N failed[, N skipped]".
// What failed is told again right before it, so that whoever has only the end of the output knows where to look. Files with
// a test that failed while the machine itself was kept from running run again, which is told too; chosen ones do not.

import "./launch/require-node.mjs";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, statfsSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { stripVTControlCharacters } from "node:util";
import { bunEnv, exitCode, openBun } from "./launch/bun.mjs";
import { root } from "./launch/root.mjs";
import { fail } from "./launch/setup-error.mjs";
import { watchMachine } from "./testing/watch-machine.mjs";

const testTimeoutMs = 60_000;
const scratchBytesMin = 4 * 2 ** 30;
/** Followed by who made it, by which others know whether it is still in use. */
const scratchPrefix = "tollgate-tests-";
/** Processes of another container are not seen here, and may share this memory; but no run takes an hour. */
const leftoverAgeMsMin = 3_600_000;
const failuresShownMax = 10;
const failureLinesMax = 40;
/** A machine that is kept from running fails a test or two; more have another reason. */
const runAgainFailuresMax = 3;
const runsMax = 3;
/** Most of a test's time is waiting, so three are under way at a time, also on two cores. */
const portionsAtOnce = 3;
/** Small enough that nobody waits long for the others at the end; each costs the start of a process. */
const portionCount = 18;
/** Those that start programs and browsers take a minute. They come first, each by itself, or the end would wait for one. */
const longFiles = [
  "./test/crashes/failpoints.test.ts",
  "./test/operator/operator.test.ts",
  "./test/crashes/kills.test.ts",
  "./gateway/src/stores/sqlite/sqlite-ledger.test.ts",
  "./test/site/site-in-browser.test.ts",
  "./test/crashes/task-kills.test.ts",
  "./test/callers/caller-commands.test.ts",
  "./test/crashes/disk-faults.test.ts",
  "./gateway/src/host/listen.test.ts",
  "./test/account/account-in-browser.test.ts",
  "./test/tasks/task-verdicts.test.ts",
  "./test/contract/contracts.test.ts",
];

const eachAlone = "--each";
/** Needs a Postgres or a Redis; npm run test:services starts them and names its files. */
const servicesTest = ".services.test.ts";

/** The whole suite runs in portions, of which whoever is free takes the next; chosen files run as one, or --each alone. */
async function runTests(args) {
  const bun = await openBun();
  const portions = portionsFor(args);
  const parent = scratchParent();
  await removeLeftovers(parent);
  const scratch = mkdtempSync(path.join(parent, `${scratchPrefix}${process.pid}-`));
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
      // When it has ended, because lines of two at once would mean nothing to anybody.
      process.stderr.write(run.held);
      // A process that was killed, or broke down between two tests, names none of them.
      if (run.code !== 0 && run.failures.length === 0)
        console.error(`Ended with code ${run.code}, and no test failed: ${files.join(" ")}`);
      runs.push(run);
    }
  };
  await Promise.all(Array.from({ length: portionsAtOnce }, (_, lane) => takePortions(lane)));
  // A browser that was just ended may still write; only the asynchronous form begins anew with what it wrote.
  await rm(scratch, { recursive: true, force: true, maxRetries: 5 });

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

/**
 * Tests wait for thousands of commits. What they show does not depend on a disk, so where memory poses as one they use
 * that, and a disk that is slow for a while fails nothing.
 */
function scratchParent() {
  const memory = "/dev/shm";
  if (!existsSync(memory)) return os.tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize >= scratchBytesMin ? memory : os.tmpdir();
}

/** A run that was killed could not clean up, and what it left fills the memory. */
async function removeLeftovers(parent) {
  for (const name of readdirSync(parent)) {
    const [, pid] = new RegExp(`^${scratchPrefix}(\\d+)-`).exec(name) ?? [];
    if (pid === undefined || isAlive(Number(pid))) continue;
    const folder = path.join(parent, name);
    const changedMs = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - changedMs < leftoverAgeMsMin) continue;
    // What belongs to somebody else stays.
    await rm(folder, { recursive: true, force: true }).catch(() => {});
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code !== "ESRCH";
  }
}

function portionsFor(args) {
  if (args.length === 0) return portionsOf(testFiles());
  if (args[0] === eachAlone) return args.slice(1).map((file) => [file]);
  const namesServices = args.some((word) => word.endsWith(servicesTest));
  return [namesServices ? args : [`--path-ignore-patterns=**/*${servicesTest}`, ...args]];
}

/** Neighbours, which are alike, fall into different ones. */
function portionsOf(files) {
  const alone = longFiles.filter((file) => files.includes(file)).map((file) => [file]);
  const others = files.filter((file) => !longFiles.includes(file));
  const together = Array.from({ length: portionCount }, (_, portion) =>
    others.filter((_file, index) => index % portionCount === portion),
  );
  return [...alone, ...together];
}

const testFiles = () =>
  ["gateway", "sandbox", "client", "test", "bench", "catalogue"]
    .flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true }).map((file) => `./${folder}/${file}`),
    )
    .filter(
      (file) => file.endsWith(".test.ts") && !file.endsWith(servicesTest) && !file.includes("node_modules"),
    )
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
    if (isAfterFailure && line.startsWith("  ^ ")) failures.at(-1).text += `${line}\n`;
    else if (isFailure)
      failures.push({ file, name: line.slice(7), text: `${[file, ...said, line].join("\n")}\n` });
    else if (/^\S+\.test\.ts:$/.test(line)) file = `./${line.slice(0, -1)}`;
    else said = [...said, line].slice(-failureLinesMax);
    if (isFailure || /^\((pass|skip|todo)\) /.test(line)) said = [];
    isAfterFailure = isFailure;
  }
  return failures;
}

runTests(process.argv.slice(2)).catch(fail);
