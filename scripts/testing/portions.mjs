// Which test files run together, in one process.

import { readdirSync } from "node:fs";
import path from "node:path";
import { root } from "../launch/root.mjs";

/** Needs a Postgres or a Redis; npm run test:services starts them and names its files. */
const servicesTest = ".services.test.ts";
const eachAlone = "--each";

/** The whole suite in portions; chosen files as one, or --each alone. */
export function portionsFor(args) {
  if (args.length === 0) return portionsOf(testFiles());
  if (args[0] === eachAlone) return args.slice(1).map((file) => [file]);
  const namesServices = args.some((word) => word.endsWith(servicesTest));
  return [namesServices ? args : [`--path-ignore-patterns=**/*${servicesTest}`, ...args]];
}

/** Small enough that nobody waits long for the others at the end; each costs the start of a process. */
const portionCount = 18;

/** Neighbours, which are alike, fall into different ones. */
function portionsOf(files) {
  const alone = longFiles.filter((file) => files.includes(file)).map((file) => [file]);
  const inBrowser = files.filter((file) => file.endsWith(inBrowserTest));
  const others = files.filter((file) => !longFiles.includes(file) && !inBrowser.includes(file));
  const together = Array.from({ length: portionCount }, (_, portion) =>
    others.filter((_file, index) => index % portionCount === portion),
  );
  return [inBrowser, ...alone, ...together];
}

/** These have one browser, which is quick once it has shown a page or two. */
const inBrowserTest = "-in-browser.test.ts";

/**
 * Those that start programs take a minute. They come first, each by itself, or the end would wait for one; those that work all
 * the time between those that mostly wait.
 */
const longFiles = [
  "./test/operator/operator.test.ts",
  "./test/callers/caller-commands.test.ts",
  "./test/crashes/failpoints.test.ts",
  "./test/tasks/task-verdicts.test.ts",
  "./gateway/src/stores/sqlite/sqlite-ledger.test.ts",
  "./gateway/src/host/listen.test.ts",
  "./test/crashes/kills.test.ts",
  "./test/crashes/disk-faults.test.ts",
  "./test/crashes/task-kills.test.ts",
  "./test/crashes/chaos.test.ts",
  "./test/contract/contracts.test.ts",
];

const testFiles = () =>
  ["gateway", "sandbox", "client", "test", "bench", "catalogue"]
    .flatMap((folder) =>
      readdirSync(path.join(root, folder), { recursive: true }).map((file) => `./${folder}/${file}`),
    )
    .filter(
      (file) => file.endsWith(".test.ts") && !file.endsWith(servicesTest) && !file.includes("node_modules"),
    )
    .toSorted((a, b) => (a < b ? -1 : 1));
