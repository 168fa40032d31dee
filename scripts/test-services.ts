// npm run test:services: runs the tests that need a Postgres and a Redis (*.services.test.ts).

import { join } from "node:path";
import { runWithServices } from "./with-services.ts";

const root = join(import.meta.dir, "..");

/** A word stands for the files it is part of, as in bun test; one that is part of none is passed on, as options are. */
function chooseTests(args: readonly string[]): readonly string[] {
  const files = ["gateway", "test"]
    .flatMap((folder) => [...new Bun.Glob(`${folder}/**/*.services.test.ts`).scanSync(root)])
    .toSorted();
  const isOption = (index: number) =>
    args[index]?.startsWith("-") === true || ["-t", "--test-name-pattern"].includes(args[index - 1] ?? "");
  const chosen = args.flatMap((word, index) => {
    const found = isOption(index) ? [] : files.filter((file) => file.includes(word.replace(/^\.\//, "")));
    return found.length > 0 ? found.map((file) => `./${file}`) : [word];
  });
  // Those that start whole gateways take longest, and are last in the order of names.
  if (args.length === 0) return ["--each", ...files.toReversed().map((file) => `./${file}`)];
  const areAllOptions = args.every((_, index) => isOption(index));
  return areAllOptions ? [...files.map((file) => `./${file}`), ...chosen] : chosen;
}

const tests = ["node", join(root, "scripts/test.mjs"), ...chooseTests(process.argv.slice(2))];
process.exit(await runWithServices(tests));
