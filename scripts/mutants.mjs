// Proves that the tests would notice: each mutant is a bug of a kind that cost others money, put into a copy
// of the sources; the tests named beside it must fail. The product itself has no switches for this.
//
//   node scripts/mutants.mjs [part of a name]
//   node scripts/mutants.mjs --short [seconds]  a quarter of them, another one with each commit, as far as the time goes
//   node scripts/mutants.mjs --placed           none, only whether each still finds its place in the sources, and its tests

import "./launch/require-node.mjs";
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { bunEnv, openBun } from "./launch/bun.mjs";
import { root } from "./launch/root.mjs";
import { runInGroup } from "./planting/run-in-group.mjs";
import { plant, withCopy } from "./planting/sources.mjs";
import { misplacedIn, misspellingsIn, unmetIn } from "./planting/unfit-mutants.mjs";
import { makeScratch, removeScratch } from "./testing/scratch.mjs";

const linesShown = 60;

/** Gives the exit code. */
async function killMutants([wanted = "", secondsMost = "300"]) {
  const isShort = wanted === "--short";
  // CI has a limit, and machines differ by half: whatever is not begun by then meets a later commit.
  const shortSeconds = Number(secondsMost);
  if (!(shortSeconds > 0)) throw new Error(`"${secondsMost}" is no number of seconds.`);
  const mutants = await loadMutants();
  const misplaced = misplacedIn(mutants);
  const unmet = unmetIn(mutants);
  for (const { name } of misplaced) tell("misplaced", name);
  for (const { name } of unmet) tell("unmet", name);
  if (misplaced.length + unmet.length > 0) return 1;
  if (wanted === "--placed") {
    console.log(`All ${mutants.length} find their place.`);
    return 0;
  }

  const chosen = isShort ? quarterOf(mutants) : mutants.filter(({ name }) => name.includes(wanted));
  if (chosen.length === 0) throw new Error(`No mutant has "${wanted}" in its name.`);
  const bun = await openBun();
  const hasServices = process.env.TOLLGATE_TEST_POSTGRES !== undefined;
  if (chosen.some(needsServices) && !hasServices) return againWithServices(bun);

  const misspellings = await misspellingsIn(mutants);
  for (const line of misspellings) tell("misspelt", line);
  if (misspellings.length > 0) return 1;
  for (const some of [chosen.filter(isAlone), chosen.filter(needsServices)])
    if (!(await passUnchanged(some))) return 1;
  tell("passes", "the sources as they are");

  let survived = 0;
  for (const [index, mutant] of chosen.entries()) {
    if (isShort && performance.now() > shortSeconds * 1000) {
      console.log(`${chosen.length - index} are left for another commit: ${shortSeconds} s are over.`);
      break;
    }
    const outcome = await outcomeOf(mutant, bun);
    if (outcome !== "killed") survived++;
    tell(outcome, mutant.name);
  }
  console.log(survived === 0 ? "Every mutant was killed." : `${survived} not killed.`);
  return survived === 0 ? 0 : 1;
}

const tell = (word, what) => console.log(`${word.padEnd(9)} ${what}`);

/** By room, in a folder beside this file: where each is planted, and the tests that must notice it. */
async function loadMutants() {
  const lists = readdirSync(new URL("mutants", import.meta.url)).toSorted();
  const loaded = await Promise.all(lists.map((list) => import(`./mutants/${list}`)));
  return loaded.flatMap(({ mutants }) => mutants);
}

/** Another quarter with each commit, begun at another place, so that CI meets them all in time; `npm run prove` meets them all at once. */
function quarterOf(all) {
  const commit = spawnSync("git", ["rev-parse", "HEAD"], { cwd: root, encoding: "utf8" }).stdout ?? "";
  const turn = Number.parseInt(commit.slice(0, 6), 16) || 0;
  const quarter = all.filter((_, index) => index % 4 === turn % 4);
  const first = Math.floor(turn / 4) % quarter.length;
  return [...quarter.slice(first), ...quarter.slice(0, first)];
}

const needsServices = ({ tests }) => tests.some((file) => file.endsWith(".services.test.ts"));

const isAlone = (mutant) => !needsServices(mutant);

/** The same run once more, with a Postgres and a Redis for all of them. */
function againWithServices(bun) {
  const again = [join(root, "scripts/with-services.ts"), process.execPath, ...process.argv.slice(1)];
  return spawnSync(bun, again, { cwd: root, stdio: "inherit", env: bunEnv }).status ?? 1;
}

/** Without a bug the same tests must pass in the same copy, or a failure would prove nothing. Shows what they said if not. */
async function passUnchanged(mutants) {
  if (mutants.length === 0) return true;
  const tests = [...new Set(mutants.flatMap((mutant) => mutant.tests))].map((file) => `./${file}`);
  return withCopy(async (folder) => {
    const args = [join(folder, "scripts/test.mjs"), "--each", ...tests];
    const { code, lines } = await runInGroup(process.execPath, args, { folder, env: envFor(mutants[0]) });
    if (code === 0) return true;
    tell("FAILS", `the sources as they are\n${lines.slice(-linesShown).join("\n")}`);
    return false;
  });
}

function outcomeOf(mutant, bun) {
  const { tests, only } = mutant;
  const named = only === undefined ? [] : ["-t", only];
  const args = ["test", "--timeout", "60000", "--bail", ...named, ...tests];
  return withCopy(async (folder) => {
    plant(mutant, folder);
    // Tests that stop at the first failure clear nothing away.
    const scratch = await makeScratch();
    const env = { ...envFor(mutant), TMPDIR: scratch };
    const { code, lines } = await runInGroup(bun, args, { folder, env });
    await removeScratch(scratch);
    if (code === 0) return "SURVIVED";
    // A test must have noticed: whatever else went wrong proves nothing.
    return lines.some((line) => line.startsWith("(fail)")) ? "killed" : "BROKEN";
  });
}

/** With services their own number holds: a case of a property takes many times as long there. */
function envFor(mutant) {
  return needsServices(mutant) ? bunEnv : { ...bunEnv, TOLLGATE_PROPERTY_RUNS: "100" };
}

process.exitCode = await killMutants(process.argv.slice(2));
