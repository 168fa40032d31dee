// Proves that the tests would notice: each mutant is a bug of a kind that cost others money, put into a copy
// of the sources; the tests named beside it must fail. The product itself has no switches for this.
//
//   node scripts/mutants.mjs [part of a name]
//   node scripts/mutants.mjs --short [seconds]  a quarter of them, another one with each commit, as far as the time goes
//   node scripts/mutants.mjs --placed           none, only whether each still finds its place in the sources, and its tests

import "./launch/require-node.mjs";
import { spawn, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { bunEnv, openBun } from "./launch/bun.mjs";
import { root } from "./launch/root.mjs";

/** What the compiler says of syntax, and of names and members that are not there; a bug may be wrong in any other way. */
const unknownName = /error TS(1\d{3}|2304|2339|2551|2552):/;

/** By room, in a folder beside this file: where each is planted, and the tests that must notice it. */
const lists = readdirSync(new URL("mutants", import.meta.url)).toSorted();
const mutants = [];
for (const list of lists) mutants.push(...(await import(`./mutants/${list}`)).mutants);
const [wanted = "", secondsMost = "300"] = process.argv.slice(2);
const isShort = wanted === "--short";
/** CI has a limit, and machines differ by half: whatever is not begun by then meets a later commit. */
const shortSeconds = Number(secondsMost);
if (!(shortSeconds > 0)) throw new Error(`"${secondsMost}" is no number of seconds.`);
const misplaced = mutants.filter((mutant) => !isPlaced(mutant, root));
for (const { name } of misplaced) console.log(`misplaced ${name}`);
const unmet = mutants.filter(createIsUnmet());
for (const { name } of unmet) console.log(`unmet     ${name}`);
if (misplaced.length + unmet.length > 0) process.exit(1);
if (wanted === "--placed") {
  console.log(`All ${mutants.length} find their place.`);
  process.exit(0);
}
const chosen = isShort ? quarterOf(mutants) : mutants.filter(({ name }) => name.includes(wanted));
if (chosen.length === 0) throw new Error(`No mutant has "${wanted}" in its name.`);
const bun = await openBun();
if (chosen.some(needsServices) && process.env.TOLLGATE_TEST_POSTGRES === undefined) {
  // Once more, with a Postgres and a Redis for all of them.
  const again = [join(root, "scripts/with-services.ts"), process.execPath, ...process.argv.slice(1)];
  process.exit(spawnSync(bun, again, { cwd: root, stdio: "inherit", env: bunEnv }).status ?? 1);
}
const misspelt = misspeltIn(mutants);
for (const line of misspelt) console.log(`misspelt  ${line}`);
if (misspelt.length > 0) process.exit(1);
let survived = 0;
/** The group of the tests that run; whoever stops us stops them. */
let running;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
  process.on(signal, () => {
    if (running !== undefined) endGroup(running);
    process.exit(1);
  });
/** The tests that failed last. */
let failures = [];
const linesShown = 60;
// Without a bug the same tests must pass in the same copy, or a failure would prove nothing.
for (const some of [chosen.filter(isAlone), chosen.filter(needsServices)])
  if (!(await isSound(some))) process.exit(1);
console.log("passes    the sources as they are");
let left = 0;
for (const mutant of chosen) {
  if (isShort && performance.now() > shortSeconds * 1000) {
    left++;
    continue;
  }
  const outcome = await run(mutant);
  if (outcome !== "killed") survived++;
  console.log(`${outcome.padEnd(9)} ${mutant.name}`);
}
if (left > 0) console.log(`${left} are left for another commit: ${shortSeconds} s are over.`);
console.log(survived === 0 ? "Every mutant was killed." : `${survived} not killed.`);
process.exitCode = survived === 0 ? 0 : 1;

/** Another quarter with each commit, begun at another place, so that CI meets them all in time; `npm run prove` meets them all at once. */
function quarterOf(all) {
  const commit = spawnSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" }).stdout ?? "";
  const turn = Number.parseInt(commit.slice(0, 6), 16) || 0;
  const quarter = all.filter((_, index) => index % 4 === turn % 4);
  const first = Math.floor(turn / 4) % quarter.length;
  return [...quarter.slice(first), ...quarter.slice(0, first)];
}

function needsServices({ tests }) {
  return tests.some((file) => file.endsWith(".services.test.ts"));
}

function isAlone(mutant) {
  return !needsServices(mutant);
}

/** All tests that are to notice anything, where there is nothing to notice. False, and what they said, when one did. */
async function isSound(some) {
  if (some.length === 0) return true;
  const tests = [...new Set(some.flatMap((mutant) => mutant.tests))].map((file) => `./${file}`);
  const folder = copySources();
  const said = [];
  try {
    return await new Promise((resolve) => {
      const child = spawn(process.execPath, [join(folder, "scripts/test.mjs"), "--each", ...tests], {
        cwd: folder,
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
        env: envFor(some[0]),
      });
      for (const output of [child.stdout, child.stderr])
        createInterface({ input: output }).on("line", (line) => said.push(line));
      running = child.pid;
      child.on("close", (code) => {
        endGroup(child.pid);
        running = undefined;
        if (code !== 0)
          console.log(`FAILS    the sources as they are\n${said.slice(-linesShown).join("\n")}`);
        resolve(code === 0);
      });
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function run(mutant) {
  const folder = copySources();
  try {
    if (mutant.file !== undefined) plant(mutant, folder);
    if (await testsPass(folder, mutant)) return "SURVIVED";
    // A test must have noticed: whatever else went wrong proves nothing.
    return failures.length > 0 ? "killed" : "BROKEN";
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function copySources() {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-mutant-"));
  for (const part of [
    "catalogue",
    "client",
    "gateway",
    "sandbox",
    "site",
    "contract",
    "docs",
    "test",
    "scripts",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "README.md",
  ]) {
    cpSync(join(root, part), join(folder, part), {
      recursive: true,
      filter: (source) => !source.includes("node_modules"),
    });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
}

/** False when the place for the bug is not there exactly once: the sources moved on and the mutant must follow. */
function isPlaced({ file, find }, folder) {
  return readFileSync(join(folder, file), "utf8").split(find).length === 2;
}

/** Which bugs no test would meet, because what is named for it is in none of its tests, or not any more. */
function createIsUnmet() {
  const textOf = (file) => readFileSync(join(root, file), "utf8");
  // What every store must do is told once, and run by the tests of each.
  const suites = ["gateway/src", "test"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((name) => name.endsWith("-conformance.ts"))
      .map((name) => textOf(join(folder, name))),
  );
  return ({ tests, only }) =>
    !tests.every((test) => existsSync(join(root, test))) ||
    (only !== undefined && ![...tests.map(textOf), ...suites].some((text) => text.includes(only)));
}

/**
 * Where a bug names what the sources do not have any more. It would stumble over that and fail every test, whatever they
 * look at. As many as have room are planted together, for the compiler takes as long over one.
 */
function misspeltIn(all) {
  const compiler = join(root, "node_modules", ".bin", "tsc");
  const complaints = [];
  for (let left = all; left.length > 0;) {
    const folder = copySources();
    const later = left.filter((mutant) => !plantWithRoom(mutant, folder));
    const { stdout } = spawnSync(compiler, ["--noEmit", "-p", folder], { encoding: "utf8" });
    complaints.push(...stdout.split("\n").filter((line) => unknownName.test(line)));
    rmSync(folder, { recursive: true, force: true });
    left = later;
  }
  return complaints;
}

function plantWithRoom(mutant, folder) {
  if (!isPlaced(mutant, folder)) return false;
  plant(mutant, folder);
  return true;
}

function plant({ file, find, replace }, folder) {
  const path = join(folder, file);
  const text = readFileSync(path, "utf8");
  writeFileSync(
    path,
    text.replace(find, () => replace),
  );
}

function testsPass(folder, { tests, only }) {
  return new Promise((resolve) => {
    const test = [
      "test",
      "--timeout",
      "60000",
      "--bail",
      ...(only === undefined ? [] : ["-t", only]),
      ...tests,
    ];
    const child = spawn(bun, test, {
      cwd: folder,
      detached: true,
      stdio: ["ignore", "ignore", "pipe"],
      env: envFor({ tests }),
    });
    failures = [];
    createInterface({ input: child.stderr }).on("line", (line) => {
      if (line.startsWith("(fail)")) failures.push(line);
    });
    running = child.pid;
    child.on("close", (code) => {
      endGroup(child.pid);
      running = undefined;
      resolve(code === 0);
    });
  });
}

/** With services their own number holds: a case of a property takes many times as long there. */
function envFor(mutant) {
  return needsServices(mutant) ? bunEnv : { ...bunEnv, TOLLGATE_PROPERTY_RUNS: "100" };
}

/** Tests that end with the first failure leave the servers behind that they had started. */
function endGroup(pid) {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nobody is left.
  }
}
