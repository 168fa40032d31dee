// Mutants that would prove nothing, because the sources or the tests have changed since they were written.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../launch/root.mjs";
import { isPlaced, plant, withCopy } from "./sources.mjs";

/** Their place is gone from the sources, or is there twice. */
export const misplacedIn = (mutants) => mutants.filter((mutant) => !isPlaced(mutant, root));

/** No test would meet them: what is named for them is in none of their tests, or not any more. */
export function unmetIn(mutants) {
  const textOf = (file) => readFileSync(join(root, file), "utf8");
  // What every store must do is told once, and run by the tests of each.
  const suites = ["gateway/src", "test"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((name) => name.endsWith("-conformance.ts"))
      .map((name) => textOf(join(folder, name))),
  );
  const isMet = ({ tests, only }) =>
    tests.every((test) => existsSync(join(root, test))) &&
    (only === undefined || [...tests.map(textOf), ...suites].some((text) => text.includes(only)));
  return mutants.filter((mutant) => !isMet(mutant));
}

/** What the compiler says of syntax, and of names and members that are not there; a bug may be wrong in any other way. */
const unknownName = /error TS(1\d{3}|2304|2339|2551|2552):/;

/**
 * What the compiler says of those that use a name the sources no longer have. Such a mutant would stumble over that and fail
 * every test, whatever the test looks at. As many as do not share a place are planted at once, because the compiler takes as
 * long over one as over all.
 */
export async function misspellingsIn(mutants) {
  const compiler = join(root, "node_modules", ".bin", "tsc");
  const complaints = [];
  for (let left = mutants; left.length > 0;) {
    left = await withCopy((folder) => {
      const later = left.filter((mutant) => !plantWithRoom(mutant, folder));
      const { stdout } = spawnSync(compiler, ["--noEmit", "-p", folder], { encoding: "utf8" });
      complaints.push(...stdout.split("\n").filter((line) => unknownName.test(line)));
      return later;
    });
  }
  return complaints;
}

function plantWithRoom(mutant, folder) {
  if (!isPlaced(mutant, folder)) return false;
  plant(mutant, folder);
  return true;
}
